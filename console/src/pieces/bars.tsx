import 'uplot/dist/uPlot.min.css';
import { Group, Stack, Text, useComputedColorScheme, useMantineTheme } from '@mantine/core';
import { useEffect, useRef, useState } from 'react';
import UPlot from 'uplot';
import classes from './bars.module.css';
import { timeText } from './time.tsx';

export interface BarSeries {
  readonly label: string;
  /** A colour of the theme. */
  readonly colour: string;
  /** One for each time. Undefined: not known, which is not 0. */
  readonly values: readonly (number | undefined)[];
}

interface Props {
  /** What the picture shows, in words. The table below it has the figures. */
  readonly label: string;
  /** Beginning of each bar, in seconds since 1970, ascending and equally far apart. */
  readonly times: readonly number[];
  /** Drawn on top of each other, the first one at the bottom. */
  readonly series: readonly BarSeries[];
  /** IANA name. Default: the browser's. */
  readonly zone?: string | undefined;
}

const HEIGHT = 220;
const SHADES = { light: 7, dark: 4 } as const;
const DAY_S = 86_400;
const DAY_STEPS = [1, 2, 7, 14, 28, 91, 364].map((days) => days * DAY_S);
const WHOLE_STEPS = [1, 2, 5, 10, 20, 50, 100, 200, 500, 1e3, 2e3, 5e3, 1e4, 2e4, 5e4, 1e5, 1e6];

/** Bars over time. Show the same figures in a table beside it, for screen readers. */
export const Bars = ({ label, times, series, zone }: Props) => {
  const [at, setAt] = useState<number>();
  const { colours, place } = usePlot({ times, series, zone, onHover: setAt });
  const time = at === undefined ? undefined : times[at];
  return (
    <Stack gap={4}>
      <div ref={place} className={classes.picture ?? ''} role="img" aria-label={label} />
      <Group gap="md">
        {series.map((one, index) => (
          <Text key={one.label} size="sm">
            <span
              className={classes.legend ?? ''}
              style={{ background: colours[index] }}
              aria-hidden="true"
            />
            {one.label}
            {at === undefined ? '' : `: ${one.values[at] ?? '–'}`}
          </Text>
        ))}
        {time !== undefined && (
          <Text size="sm" c="dimmed">
            {timeText(new Date(time * 1_000).toISOString(), zone)}
          </Text>
        )}
      </Group>
    </Stack>
  );
};

interface Plot extends Omit<Props, 'label'> {
  readonly onHover: (index: number | undefined) => void;
}

const usePlot = ({ times, series, zone, onHover }: Plot) => {
  const place = useRef<HTMLDivElement>(null);
  const scheme = useComputedColorScheme('light');
  const { colors } = useMantineTheme();
  const colours = series.map(({ colour }) => colors[colour]?.[SHADES[scheme]] ?? colour);
  const [ink, lines] =
    scheme === 'light' ? [colors.gray[7], colors.gray[3]] : [colors.dark[1], colors.dark[5]];
  useEffect(() => {
    const element = place.current;
    if (element === null) return undefined;
    const axis = { stroke: ink, grid: { stroke: lines, width: 1 }, ticks: { stroke: lines, width: 1 } };
    const plot = new UPlot(
      {
        width: element.clientWidth,
        height: HEIGHT,
        legend: { show: false },
        cursor: { y: false, drag: { x: false, y: false } },
        scales: {
          x: { range: (_, min, max) => [min, max + stepOf(times)] },
          y: { range: (_, __, max) => [0, Math.max(1, max * 1.1)] },
        },
        axes: [
          stepOf(times) < DAY_S ? axis : { ...axis, incrs: DAY_STEPS },
          { ...axis, size: 56, incrs: WHOLE_STEPS },
        ],
        // The highest sum is drawn first, so that the lower ones stay visible.
        series: [{}, ...colours.map(barsOf).toReversed()],
        hooks: { setCursor: [({ cursor }) => onHover(cursor.idx ?? undefined)] },
        ...(zone === undefined ? {} : { tzDate: (at: number) => UPlot.tzDate(new Date(at * 1_000), zone) }),
      },
      [[...times], ...sumsOf(series).toReversed()],
      element,
    );
    const observer = new ResizeObserver(() => plot.setSize({ width: element.clientWidth, height: HEIGHT }));
    observer.observe(element);
    return () => {
      observer.disconnect();
      plot.destroy();
    };
    // It is drawn again when what it shows has changed, not for each new array.
  }, [JSON.stringify([times, series]), scheme, zone]);
  return { colours, place };
};

const barsOf = (colour: string): UPlot.Series => {
  const paths = UPlot.paths.bars?.({ size: [0.8, 48], align: 1 });
  const shape = paths === undefined ? {} : { paths };
  return { fill: colour, stroke: colour, width: 0, points: { show: false }, ...shape };
};

/** A bar begins at its time and ends before the next one. */
const stepOf = ([first = 0, second = first + 1]: readonly number[]): number => second - first;

/** Each one with all below it. */
const sumsOf = (series: readonly BarSeries[]): number[][] => {
  let below: readonly number[] = [];
  return series.map(({ values }) => {
    const sums = values.map((value = 0, index) => value + (below[index] ?? 0));
    below = sums;
    return sums;
  });
};
