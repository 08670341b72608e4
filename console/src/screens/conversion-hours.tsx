import { Group, NativeSelect, Paper, SimpleGrid, Skeleton, Stack, Text, Title } from '@mantine/core';
import { useEffect, useRef, useState } from 'react';
import { useItems, useRead } from '../api/query.ts';
import type { Advertiser, EventSource, ReceivedEvents } from '../api/types.ts';
import { Bars } from '../pieces/bars.tsx';
import { Figures } from '../pieces/figures.tsx';
import { JsonAndCurl } from '../pieces/json.tsx';
import type { Column } from '../pieces/list-table.tsx';
import { Problem } from '../pieces/problem.tsx';
import { Time, timeText } from '../pieces/time.tsx';
import { useUrlState } from '../pieces/url-state.ts';
import { hoursOf, useStartHour, type Hour } from './received-hours.ts';
import { advertiserPath } from './syndicated.ts';

const periods = [
  ['24', 'Last 24 hours'],
  ['168', 'Last 7 days'],
  ['720', 'Last 30 days'],
] as const;

interface Reason {
  readonly reason: string;
  readonly count: number;
  readonly lastHour: string;
}

const reasonsOf = ({ entries }: ReceivedEvents): readonly Reason[] => {
  const reasons = new Map<string, Reason>();
  for (const { hour, rejected } of entries) {
    for (const { reason, count } of rejected) {
      const before = reasons.get(reason)?.count ?? 0;
      reasons.set(reason, { reason, count: before + count, lastHour: hour });
    }
  }
  return [...reasons.values()].sort((one, other) => other.count - one.count);
};

/** By hour of receipt. It grows as events arrive: nothing is polled. */
export const ConversionHours = ({ advertiser }: { readonly advertiser: Advertiser }) => {
  const [url, change] = useUrlState();
  const { data: sources = [] } = useItems<EventSource>(`${advertiserPath(advertiser.id)}/event-sources`);
  const hours = periods.find(([value]) => value === url['hours'])?.[0] ?? '24';
  const startHour = useStartHour(Number(hours));
  const path = `${advertiserPath(advertiser.id)}/events/received`;
  const query = { startHour, eventSourceId: url['source'] };
  const { data, error } = useRead<ReceivedEvents>(path, query);
  return (
    <Stack>
      <Group gap="sm" align="flex-end" role="search" aria-label="Filters">
        <NativeSelect
          size="xs"
          label="Period"
          value={hours}
          data={periods.map(([value, label]) => ({ value, label }))}
          onChange={({ currentTarget }) =>
            change({ hours: currentTarget.value === '24' ? undefined : currentTarget.value })
          }
        />
        <NativeSelect
          size="xs"
          label="Source"
          value={url['source'] ?? ''}
          data={[
            { value: '', label: 'All' },
            ...sources.map(({ eventSourceId, name }) => ({ value: eventSourceId, label: name })),
          ]}
          onChange={({ currentTarget }) => change({ source: currentTarget.value })}
        />
      </Group>
      <Problem error={error} />
      {data === undefined && error === null && <Skeleton height={220} />}
      {data !== undefined && (
        <Shown key={`${hours} ${url['source'] ?? ''}`} received={data} zone={advertiser.preferredTimezone} />
      )}
      {data !== undefined && (
        <details>
          <summary>For programs</summary>
          <JsonAndCurl data={data} path={path} query={query} />
        </details>
      )}
    </Stack>
  );
};

const reasonColumns: readonly Column<Reason>[] = [
  { title: 'Reason', text: ({ reason }) => reason },
  { title: 'Events', text: ({ count }) => count },
  {
    title: 'Last in the hour of',
    text: ({ lastHour }) => lastHour,
    cell: ({ lastHour }) => <Time at={lastHour} />,
    wide: true,
  },
];

interface ShownProps {
  readonly received: ReceivedEvents;
  readonly zone: string | undefined;
}

const Shown = ({ received, zone }: ShownProps) => {
  const hours = hoursOf(received);
  const columns: readonly Column<Hour>[] = [
    { title: 'Hour', text: ({ hour }) => hour, cell: ({ hour }) => timeText(hour, zone) },
    { title: 'Accepted', text: ({ accepted }) => accepted },
    { title: 'Rejected', text: ({ rejected }) => rejected },
  ];
  const { totalAccepted, totalRejected } = received;
  return (
    <Stack>
      <Arriving accepted={totalAccepted} rejected={totalRejected} />
      <Bars
        label={`Events by hour of receipt: ${totalAccepted} accepted, ${totalRejected} rejected. The table below has the figures.`}
        times={hours.map(({ hour }) => Date.parse(hour) / 1_000)}
        series={[
          { label: 'Accepted', colour: 'indigo', values: hours.map(({ accepted }) => accepted) },
          { label: 'Rejected', colour: 'red', values: hours.map(({ rejected }) => rejected) },
        ]}
        zone={zone}
      />
      <SimpleGrid cols={{ base: 1, md: 2 }}>
        <Paper withBorder p="md" style={{ minWidth: 0 }}>
          <Title order={2} size="h4">
            By hour
          </Title>
          <Figures
            name="events by hour"
            rows={hours.filter(({ accepted, rejected }) => accepted + rejected > 0).toReversed()}
            columns={columns}
            rowKey={({ hour }) => hour}
            height={320}
            empty="No event has arrived in this period."
          />
        </Paper>
        <Paper withBorder p="md" style={{ minWidth: 0 }}>
          <Title order={2} size="h4">
            Why events were rejected
          </Title>
          <Figures
            name="reasons of rejection"
            rows={reasonsOf(received)}
            columns={reasonColumns}
            rowKey={({ reason }) => reason}
            height={320}
            empty="Nothing was rejected in this period."
          />
        </Paper>
      </SimpleGrid>
    </Stack>
  );
};

interface Arrival {
  readonly at: string;
  readonly accepted: number;
  readonly rejected: number;
}

const ARRIVALS = 5;

/** The sums, and what has come since the page was opened. */
const Arriving = ({ accepted, rejected }: Omit<Arrival, 'at'>) => {
  const before = useRef({ accepted, rejected });
  const [arrivals, setArrivals] = useState<readonly Arrival[]>([]);
  useEffect(() => {
    const arrival = {
      at: new Date().toISOString(),
      accepted: accepted - before.current.accepted,
      rejected: rejected - before.current.rejected,
    };
    before.current = { accepted, rejected };
    if (arrival.accepted > 0 || arrival.rejected > 0)
      setArrivals((known) => [arrival, ...known].slice(0, ARRIVALS));
  }, [accepted, rejected]);
  return (
    <div>
      <Text>
        <strong>{accepted}</strong> accepted, <strong>{rejected}</strong> rejected
      </Text>
      <Stack gap={0} role="log" aria-label="Arriving now">
        {arrivals.map((arrival) => (
          <Text key={arrival.at} size="sm" c="dimmed">
            {new Date(arrival.at).toLocaleTimeString()}: {arrival.accepted} more accepted, {arrival.rejected}{' '}
            more rejected
          </Text>
        ))}
      </Stack>
    </div>
  );
};
