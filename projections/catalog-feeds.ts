import type { ClientBase } from 'pg';
import { z } from 'zod';
import { CATALOG } from '../domain/catalogs/catalog.ts';
import type { RecordedEvent } from '../shared/event-store/event-store.ts';
import { int8Array, uuidArray } from '../shared/postgres/binary-array.ts';
import { byStream } from './engine/fold-streams.ts';
import type { Projection } from './engine/projection.ts';

/**
 * The list of feeds that workers read, and when: a feed that is named is due at once. When it is due again is for them to
 * say. What it holds of a catalog that has no feed any more, they find out.
 */
export const catalogFeedsProjection: Projection = {
  name: 'catalog-feeds',
  categories: [CATALOG],
  tables: ['catalog_feeds'],
  workLists: ['catalog_feeds'],
  apply: async (client, events) => {
    const changes = [...byStream(events)].sort(([a], [b]) => (a < b ? -1 : 1)).flatMap(changeOf);
    const asked = changes.filter(({ isAsked }) => isAsked);
    const gone = changes.filter(({ isAsked }) => !isAsked);
    if (asked.length > 0) await ask(client, asked);
    if (gone.length > 0) await remove(client, gone);
  },
};

interface Change {
  readonly customerId: number;
  readonly id: string;
  readonly revision: number;
  readonly isAsked: boolean;
}

const CATALOG_STREAM = /^[^-]+-(\d+)-([0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12})$/;
const NamesFeed = z.object({ definition: z.object({ content: z.object({ kind: z.literal('feed') }) }) });

const isAsking = ({ type, data }: RecordedEvent): boolean =>
  type === 'CatalogFeedAsked' || (type === 'CatalogPublished' && NamesFeed.safeParse(data).success);

/** The last event of a stream that says whether it is to be read. What comes of a reading does not. */
const changeOf = ([stream, events]: readonly [string, readonly RecordedEvent[]]): readonly Change[] => {
  const [, customerId, id] = CATALOG_STREAM.exec(stream) ?? [];
  const last = events.findLast(({ type }) => type !== 'CatalogFeedRead' && type !== 'CatalogFeedFailed');
  if (customerId === undefined || id === undefined || last === undefined) return [];
  return [{ customerId: Number(customerId), id, revision: last.revision, isAsked: isAsking(last) }];
};

const keysOf = (changes: readonly Change[]): readonly Buffer[] => [
  int8Array(changes.map(({ customerId }) => customerId)),
  uuidArray(changes.map(({ id }) => id)),
  int8Array(changes.map(({ revision }) => revision)),
];

/**
 * Not more than once a minute, and never while it is read, however often it is asked for: the feed is somebody else's
 * server.
 */
const ask = async (client: ClientBase, changes: readonly Change[]): Promise<void> => {
  await client.query({
    name: 'catalog-feeds-ask',
    text: `insert into catalog_feeds as f (customer_id, id, revision)
           select * from unnest($1::bigint[], $2::uuid[], $3::bigint[])
           on conflict (customer_id, id) do update
             set revision = excluded.revision, is_due = false, attempts = 0,
               due_at = greatest(now(), f.read_at + interval '1 minute', f.running_until)
             where f.revision < excluded.revision`,
    values: [...keysOf(changes)],
  });
};

/** What is being read, or just was, stays until then: it may be named again, and is not to be read more often for that. */
const remove = async (client: ClientBase, changes: readonly Change[]): Promise<void> => {
  await client.query({
    name: 'catalog-feeds-remove-later',
    text: `update catalog_feeds f
           set revision = gone.revision, is_due = false, attempts = 0,
             due_at = greatest(f.read_at + interval '1 minute', f.running_until)
           from unnest($1::bigint[], $2::uuid[], $3::bigint[]) as gone(customer_id, id, revision)
           where f.customer_id = gone.customer_id and f.id = gone.id and f.revision < gone.revision
             and greatest(f.read_at + interval '1 minute', f.running_until) > now()`,
    values: [...keysOf(changes)],
  });
  await client.query({
    name: 'catalog-feeds-remove',
    text: `delete from catalog_feeds f
           using unnest($1::bigint[], $2::uuid[], $3::bigint[]) as gone(customer_id, id, revision)
           where f.customer_id = gone.customer_id and f.id = gone.id and f.revision < gone.revision`,
    values: [...keysOf(changes)],
  });
};
