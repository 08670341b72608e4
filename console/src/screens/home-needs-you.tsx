import { List, Paper, Text, Title } from '@mantine/core';
import { useQueries } from '@tanstack/react-query';
import { call, type Answer } from '../api/call.ts';
import { BUYER, useRead } from '../api/query.ts';
import type {
  Advertiser,
  Catalog,
  CreativeDetail,
  EventPage,
  EventSource,
  LiveEvent,
  SyndicationRecord,
} from '../api/types.ts';
import { Go } from '../pieces/go.tsx';
import { resourceAddress } from '../pieces/resource-address.ts';
import { advertiserPath, recordsPath } from './syndicated.ts';
import { WEBHOOKS, type Webhook } from './webhooks/webhook-fields.tsx';

interface Trouble {
  /** What it is about. */
  readonly name: string;
  readonly text: string;
  readonly to: string | undefined;
}

/** A read of the present state: what was mended since is no trouble. */
interface Check {
  readonly path: string;
  readonly find: (data: unknown) => readonly Trouble[];
}

const KINDS = 'syndication.status_changed,creative.review_status_changed,webhook_subscription.status_changed';
const EVENTS = 50;
/** Each is one request. */
const CHECKED_MAX = 8;

const checkOf = (changed: LiveEvent['data']): Check | undefined => {
  const { resourceType, resourceId, advertiserId = '' } = changed;
  const to = resourceAddress(changed);
  if (resourceType === 'SYNDICATION') {
    return {
      path: `${recordsPath(advertiserId)}/${resourceId}`,
      find: (data) => {
        const { status, resourceId: name, errorMessage } = data as SyndicationRecord;
        const text = `did not reach an agent: ${errorMessage ?? 'it failed'}`;
        return status === 'FAILED' ? [{ name, text, to }] : [];
      },
    };
  }
  if (resourceType === 'CREATIVE') {
    return {
      path: `${BUYER}/creatives/${resourceId}/detail`,
      find: (data) => {
        const { name, sellerStatuses } = data as CreativeDetail;
        const by = sellerStatuses
          .filter(({ status }) => status === 'rejected')
          .map(({ seller }) => seller.name);
        return by.length > 0 ? [{ name, text: `was rejected by ${by.join(', ')}`, to }] : [];
      },
    };
  }
  if (resourceType !== 'WEBHOOK_SUBSCRIPTION') return undefined;
  return {
    path: `${WEBHOOKS}/${resourceId}`,
    find: (data) => {
      const { url, status } = (data as { readonly subscription: Webhook }).subscription;
      const text = 'gets no events: deliveries to it have failed';
      return status === 'failed' ? [{ name: url, text, to }] : [];
    },
  };
};

const SILENT_MS = 86_400_000;

const textOf = ({ health }: EventSource): string | undefined => {
  if (health.status === 'needs_attention') return `has a problem: ${health.lastError ?? 'see its health'}`;
  const lastAt = health.lastEventReceivedAt;
  if (lastAt === null || Date.now() - Date.parse(lastAt) < SILENT_MS) return undefined;
  return 'has sent no event for a day';
};

const dataChecksOf = ({ id }: Advertiser): readonly Check[] => [
  {
    path: `${advertiserPath(id)}/event-sources`,
    find: (data) =>
      (data as { readonly eventSources: readonly EventSource[] }).eventSources.flatMap((source) => {
        const text = textOf(source);
        const named = { resourceType: 'EVENT_SOURCE', resourceId: source.eventSourceId, advertiserId: id };
        const to = resourceAddress(named);
        return text === undefined ? [] : [{ name: source.name, text, to }];
      }),
  },
  {
    path: `${advertiserPath(id)}/catalogs`,
    find: (data) =>
      (data as { readonly catalogs: readonly Catalog[] }).catalogs
        .filter(({ feed }) => feed?.status === 'FAILED')
        .map(({ catalogId, name, feed }) => ({
          name,
          text: `could not be read from its feed: ${feed?.errorMessage ?? ''}`,
          to: resourceAddress({ resourceType: 'CATALOG', resourceId: catalogId, advertiserId: id }),
        })),
  },
];

interface Troubles {
  readonly found: readonly Trouble[];
  /** Before that, others may follow. */
  readonly isComplete: boolean;
}

const useTroubles = (advertisers: readonly Advertiser[] | undefined): Troubles => {
  const { data } = useRead<EventPage>(`${BUYER}/events`, { newest: true, take: EVENTS, types: KINDS });
  // The newest first: a map keeps the order of the first insertions.
  const changed = new Map(data?.events.toReversed().map((event) => [event.data.resourceId, event.data]));
  const late = [...changed.values()].slice(0, CHECKED_MAX);
  const checks = [...late.flatMap((one) => checkOf(one) ?? []), ...(advertisers ?? []).flatMap(dataChecksOf)];
  const isListed = data !== undefined && advertisers !== undefined;
  return useQueries({
    queries: checks.map(({ path, find }) => ({
      queryKey: [path, {}],
      queryFn: ({ signal }: { readonly signal: AbortSignal }) => call<unknown>({ path, signal }),
      select: (answer: Answer<unknown>) => find(answer.data),
    })),
    combine: (reads) => ({
      found: reads.flatMap(({ data: found }) => found ?? []),
      isComplete: isListed && reads.every(({ isPending }) => !isPending),
    }),
  });
};

interface Props {
  /** Their event sources and catalogs are looked at. Undefined while they are read. */
  readonly advertisers: readonly Advertiser[] | undefined;
}

export const NeedsYou = ({ advertisers }: Props) => {
  const { found, isComplete } = useTroubles(advertisers);
  return (
    <Paper withBorder p="lg" style={{ minWidth: 0 }}>
      <Title order={2} size="h4" mb="sm">
        Needs you
      </Title>
      {isComplete && found.length === 0 && (
        <Text c="dimmed">Nothing fails at present, and no seller rejects a creative.</Text>
      )}
      <List listStyleType="none" spacing={4} aria-label="Needs you">
        {found.map(({ name, text, to }) => (
          <List.Item key={`${to ?? ''} ${name}`}>
            <Text size="sm" component="div" style={{ overflowWrap: 'anywhere' }}>
              {to === undefined ? name : <Go to={to}>{name}</Go>} {text}
            </Text>
          </List.Item>
        ))}
      </List>
    </Paper>
  );
};
