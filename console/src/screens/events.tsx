import { Anchor, Badge, Button, Drawer, Group, Skeleton, Stack, Text } from '@mantine/core';
import { useEffect, useState } from 'react';
import { onLiveEvent, useLiveState } from '../api/live.ts';
import { BUYER, useRead } from '../api/query.ts';
import type { EventPage, EventTypes, LiveEvent } from '../api/types.ts';
import { advertiserFilter, useAdvertisers } from '../pieces/advertiser-filter.ts';
import { CopyId, shortened } from '../pieces/copy-id.tsx';
import { Figures } from '../pieces/figures.tsx';
import { Filters } from '../pieces/filters.tsx';
import { Go } from '../pieces/go.tsx';
import { Code } from '../pieces/json.tsx';
import type { Column } from '../pieces/list-table.tsx';
import { Page } from '../pieces/page.tsx';
import { Problem } from '../pieces/problem.tsx';
import { resourceAddress } from '../pieces/resource-address.ts';
import { timeColumn } from '../pieces/time-column.tsx';
import { useUrlState } from '../pieces/url-state.ts';

const TAKE = 50;
/** Older ones leave the page as new ones come. */
const SHOWN_MAX = 200;

const isWanted =
  (types: string | undefined, advertiserId: string | undefined) =>
  ({ type, data }: LiveEvent): boolean =>
    (types === undefined ||
      type === types ||
      (types.endsWith('.*') && type.startsWith(types.slice(0, -1)))) &&
    (advertiserId === undefined || data.advertiserId === advertiserId);

/** Newest first: what the feed had when the page was opened, and what has come since. */
const useFeed = (isHeld: boolean) => {
  const [{ types, advertiserId }] = useUrlState();
  const query = { newest: true, take: TAKE, types, advertiserId };
  const { data, error } = useRead<EventPage>(`${BUYER}/events`, query);
  const [come, setCome] = useState<readonly LiveEvent[]>([]);
  useEffect(() => {
    if (isHeld) return undefined;
    return onLiveEvent((event) => setCome((before) => [event, ...before].slice(0, SHOWN_MAX)));
  }, [isHeld]);
  const known = data?.events.toReversed() ?? [];
  const ids = new Set(known.map(({ id }) => id));
  const later = come.filter((event) => !ids.has(event.id) && isWanted(types, advertiserId)(event));
  return { events: [...later, ...known].slice(0, SHOWN_MAX), isRead: data !== undefined, error };
};

const columnsOf = (open: (id: string) => void): readonly Column<LiveEvent>[] => [
  timeColumn('When', ({ timestamp }) => timestamp, { wide: false }),
  {
    title: 'Event',
    text: ({ type }) => type,
    cell: ({ id, type }) => (
      <Anchor component="button" inherit ta="start" onClick={() => open(id)}>
        {type}
      </Anchor>
    ),
  },
  { title: 'Of what', text: ({ data }) => data.resourceId, cell: (event) => <Resource event={event} /> },
  { title: 'Changed', text: ({ data }) => data.changed.join(', '), wide: true },
  { title: 'Revision', text: ({ data }) => data.revision, wide: true },
];

const Resource = ({ event: { data } }: { readonly event: LiveEvent }) => {
  const to = resourceAddress(data);
  return to === undefined ? (
    <CopyId id={data.resourceId} what={`${data.resourceType} id`} short />
  ) : (
    <Go to={to} title={data.resourceId} style={{ whiteSpace: 'nowrap' }}>
      {shortened(data.resourceId)}
    </Go>
  );
};

const words: Readonly<Record<ReturnType<typeof useLiveState>, readonly [colour: string, text: string]>> = {
  open: ['green', 'live'],
  connecting: ['gray', 'connecting'],
  lost: ['yellow', 'connection lost'],
  ended: ['red', 'ended'],
};

const LiveMark = () => {
  const [colour, text] = words[useLiveState()];
  return (
    <Badge color={colour} variant="light" tt="none" style={{ color: 'var(--mantine-color-text)' }}>
      {text}
    </Badge>
  );
};

const Events = () => {
  const [url, change] = useUrlState();
  const [isHeld, setHeld] = useState(false);
  const { events, isRead, error } = useFeed(isHeld);
  const { data: types } = useRead<EventTypes>(`${BUYER}/webhook-event-types`);
  const advertisers = useAdvertisers();
  const kinds = types?.eventTypes.map(({ type }) => type) ?? [];
  const groups = [...new Set(kinds.map((kind) => kind.replace(/\..*/, '.*')))];
  const chosen = events.find(({ id }) => id === url['event']);
  return (
    <Page
      title="Live events"
      mark={<LiveMark />}
      about="What happens to the resources of the account, as webhooks and streams report it."
      actions={
        <Button variant="default" onClick={() => setHeld(!isHeld)} aria-pressed={isHeld}>
          {isHeld ? 'Resume' : 'Pause'}
        </Button>
      }
    >
      <Filters
        filters={[
          {
            name: 'types',
            label: 'Kind',
            choices: [['', 'All'], ...[...groups, ...kinds].map((kind) => [kind, kind] as const)],
          },
          advertiserFilter(advertisers),
        ]}
      />
      <Problem error={error} />
      {!isRead && error === null && <Skeleton height={200} />}
      {isRead && (
        <Stack gap="xs">
          <Text size="sm" c="dimmed" role="status">
            {isHeld ? `Paused at ${events.length} events` : `The newest ${events.length}`}
          </Text>
          <Figures
            name="events"
            rows={events}
            columns={columnsOf((event) => change({ event }))}
            rowKey={({ id }) => id}
            empty="Nothing has happened yet. Change something, here or by a program: it appears at once."
          />
        </Stack>
      )}
      <Drawer
        opened={chosen !== undefined}
        onClose={() => change({ event: undefined })}
        title={chosen?.type ?? ''}
        size="lg"
      >
        {chosen !== undefined && <Detail event={chosen} />}
      </Drawer>
    </Page>
  );
};

const Detail = ({ event }: { readonly event: LiveEvent }) => (
  <Stack>
    <Group gap="xs">
      <CopyId id={event.id} what="event id" />
      <Resource event={event} />
    </Group>
    <Code label="The event, as a webhook has it" text={JSON.stringify(event, undefined, 2)} />
    {event.data.url !== undefined && (
      <Code
        label="The resource at this event"
        text={`curl -s '${event.data.url}' -H "Authorization: Bearer $KEY"`}
      />
    )}
  </Stack>
);

export default Events;
