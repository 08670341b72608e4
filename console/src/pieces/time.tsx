import { Text } from '@mantine/core';

const STEPS: readonly (readonly [unit: Intl.RelativeTimeFormatUnit, seconds: number])[] = [
  ['year', 31_536_000],
  ['month', 2_592_000],
  ['day', 86_400],
  ['hour', 3_600],
  ['minute', 60],
];

const ago = (at: string): string => {
  const seconds = (Date.parse(at) - Date.now()) / 1_000;
  const format = new Intl.RelativeTimeFormat(undefined, { numeric: 'auto' });
  const [unit, size] = STEPS.find(([, step]) => Math.abs(seconds) >= step) ?? ['second', 1];
  return format.format(Math.round(seconds / size), unit);
};

interface Props {
  readonly at: string | undefined;
  readonly relative?: boolean;
  /** IANA name, e.g. the advertiser's. Default: the browser's. */
  readonly zone?: string | undefined;
}

/** With the name of a zone that is not the browser's: the times beside it are in that one. */
export const timeText = (at: string, zone?: string): string =>
  new Date(at).toLocaleString(undefined, {
    year: 'numeric',
    month: 'short',
    day: 'numeric',
    hour: 'numeric',
    minute: '2-digit',
    ...(zone === undefined || zone === Intl.DateTimeFormat().resolvedOptions().timeZone
      ? {}
      : { timeZone: zone, timeZoneName: 'short' }),
  });

export const Time = ({ at, relative = false, zone }: Props) => {
  if (at === undefined)
    return (
      <Text span c="dimmed">
        –
      </Text>
    );
  return (
    <time
      dateTime={at}
      style={relative ? { whiteSpace: 'nowrap' } : {}}
      title={`${at}${zone === undefined ? '' : `, shown in ${zone}`}`}
    >
      {relative ? ago(at) : timeText(at, zone)}
    </time>
  );
};
