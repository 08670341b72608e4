import { Paper, Text, Title } from '@mantine/core';
import { useQueries } from '@tanstack/react-query';
import { call } from '../api/call.ts';
import type { Advertiser, ReceivedEvents } from '../api/types.ts';
import { Bars } from '../pieces/bars.tsx';
import { Go } from '../pieces/go.tsx';
import { hoursOf, useStartHour } from './received-hours.ts';
import { advertiserPath } from './syndicated.ts';

const HOURS = 24;

/** What event sources have sent in the last day, of several advertisers together. Nothing was sent: nothing is shown. */
const HomeConversions = ({ advertisers }: { readonly advertisers: readonly Advertiser[] }) => {
  const startHour = useStartHour(HOURS);
  const received = useQueries({
    queries: advertisers.map(({ id }) => {
      const path = `${advertiserPath(id)}/events/received`;
      const query = { startHour, eventSourceId: undefined };
      return {
        queryKey: [path, query],
        queryFn: ({ signal }: { readonly signal: AbortSignal }) =>
          call<ReceivedEvents>({ path, query, signal }),
      };
    }),
    combine: (reads) => reads.flatMap(({ data }) => data?.data ?? []),
  });
  const hours = received.map(hoursOf);
  const sum = (of: 'accepted' | 'rejected') =>
    (hours[0] ?? []).map((_, index) => hours.reduce((all, one) => all + (one[index]?.[of] ?? 0), 0));
  const accepted = received.reduce((all, { totalAccepted }) => all + totalAccepted, 0);
  const rejected = received.reduce((all, { totalRejected }) => all + totalRejected, 0);
  if (accepted + rejected === 0) return null;
  return (
    <Paper withBorder p="lg" style={{ minWidth: 0 }}>
      <Title order={2} size="h4" mb="sm">
        Conversions in the last {HOURS} hours
      </Title>
      <Text size="sm" mb="sm">
        <strong>{accepted}</strong> accepted, <strong>{rejected}</strong> rejected, of{' '}
        {advertisers.map(({ id, name }, index) => (
          <span key={id}>
            {index === 0 ? '' : ', '}
            <Go to={`/conversions?advertiserId=${id}`}>{name}</Go>
          </span>
        ))}
      </Text>
      <Bars
        label={`Conversion events by hour: ${accepted} accepted, ${rejected} rejected. The page Conversions has the figures.`}
        times={(hours[0] ?? []).map(({ hour }) => Date.parse(hour) / 1_000)}
        series={[
          { label: 'Accepted', colour: 'indigo', values: sum('accepted') },
          { label: 'Rejected', colour: 'red', values: sum('rejected') },
        ]}
      />
    </Paper>
  );
};

export default HomeConversions;
