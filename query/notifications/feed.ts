import { kindsMatching } from '../../domain/notifications/matches.ts';
import type { KeptNotification } from '../../domain/notifications/body.ts';
import { START } from '../../shared/event-store/event-store.ts';
import { consistentRead } from '../../shared/follow-log/consistent-read.ts';
import {
  freshnessColumns,
  freshnessOfAllSql,
  type Freshness,
} from '../../shared/follow-log/written-position.ts';
import { textArray } from '../../shared/postgres/binary-array.ts';
import { isoTimestampSql } from '../../shared/postgres/build-statement.ts';
import { boundTo } from '../../shared/postgres/tenant-database.ts';
import type { ResourceReads } from '../resources/resource-reads.ts';
import { LAST_IDX, type FeedPlace } from './cursor.ts';

export interface FeedFilters {
  /** Patterns (`matches.ts`). Default: all that clients can see. */
  readonly kinds?: readonly string[] | undefined;
  readonly advertiserId?: number | undefined;
}

export interface FeedEntry extends KeptNotification {
  readonly position: string;
  readonly idx: number;
}

export interface FeedPage {
  readonly entries: readonly FeedEntry[];
  /** The next page begins after it; without entries, too, so that a reader whose filter finds nothing stays recent. */
  readonly next: FeedPlace;
  readonly hasMore: boolean;
}

interface FeedRow extends Freshness {
  readonly at: string;
  readonly items: string;
}

export const FEED = 'notifications';

/** From the oldest kept. */
export const FEED_START: FeedPlace = { position: START, idx: 0, at: '9999-12-31T23:59:59.999Z' };

/** Contains all that the account has written. @throws ReadModelBehindError */
export const readFeed = async (
  { database, progress }: ResourceReads,
  customerId: number,
  after: FeedPlace,
  filters: FeedFilters,
  limit: number,
): Promise<FeedPage> => {
  const row = await consistentRead<FeedRow>({
    pool: boundTo(database, customerId),
    projection: FEED,
    progress,
    query: feedQuery(customerId, after, filters, limit),
  });
  return pageIn(row, after, limit);
};

/** The newest ones, oldest first; the next page begins after them. @throws ReadModelBehindError */
export const readNewest = async (
  { database, progress }: ResourceReads,
  customerId: number,
  filters: FeedFilters,
  limit: number,
): Promise<FeedPage> => {
  const row = await consistentRead<FeedRow>({
    pool: boundTo(database, customerId),
    projection: FEED,
    progress,
    query: feedQuery(customerId, FEED_START, filters, limit - 1, 'desc'),
  });
  return pageIn(row, FEED_START, limit);
};

/** As far as the read model is now; internal kinds, too, and no filters: one read for all streams of an account. */
export const readWholeFeed = async (
  { database }: Pick<ResourceReads, 'database'>,
  customerId: number,
  after: FeedPlace,
  limit: number,
): Promise<FeedPage> => {
  const { rows } = await boundTo(database, customerId).query(wholeFeedQuery(customerId, after, limit));
  return pageIn(rows[0] as FeedRow, after, limit);
};

const pageIn = ({ items, reached, at }: FeedRow, after: FeedPlace, limit: number): FeedPage => {
  const found = JSON.parse(items) as readonly FeedEntry[];
  const entries = found.slice(0, limit);
  const last = entries.at(-1);
  if (last !== undefined && found.length > limit) {
    const { position, idx, occurredAt } = last;
    return { entries, next: { position, idx, at: occurredAt }, hasMore: true };
  }
  // During a reset of the read model, it is behind the reader.
  if (reached < after.position) return { entries, next: after, hasMore: false };
  const { position, idx } = last ?? after;
  const lastIdx = position === reached ? Math.max(idx, LAST_IDX) : LAST_IDX;
  return { entries, next: { position: reached, idx: lastIdx, at }, hasMore: false };
};

/**
 * One short range of an index for each kind, so the cost depends on the page only: not on how many notifications
 * of other kinds or advertisers the account has.
 */
export const feedQuery = (
  customerId: number,
  { position, idx }: FeedPlace,
  { kinds = ['*'], advertiserId }: FeedFilters,
  limit: number,
  direction: 'asc' | 'desc' = 'asc',
) => {
  const ofAdvertiser = advertiserId === undefined ? '' : 'and n.advertiser_id = $7';
  return {
    name: `read-feed-${direction}${advertiserId === undefined ? '' : '-of-advertiser'}`,
    text: feedSql(`
      select e.* from unnest($6::text[]) as k(kind), lateral (
        select ${columns} from notifications n
        where n.customer_id = $1 and n.kind = k.kind collate "C" ${ofAdvertiser}
          and (n.position, n.idx) > ($3, $4::smallint)
        order by n.position ${direction}, n.idx ${direction} limit $5) e
      order by e.position ${direction}, e.idx ${direction} limit $5`),
    values: [
      customerId,
      FEED,
      position,
      idx,
      limit + 1,
      textArray(kindsMatching(kinds)),
      ...(advertiserId === undefined ? [] : [advertiserId]),
    ],
  };
};

const wholeFeedQuery = (customerId: number, { position, idx }: FeedPlace, limit: number) => ({
  name: 'read-whole-feed',
  text: feedSql(`
    select ${columns} from notifications n
    where n.customer_id = $1 and (n.position, n.idx) > ($3, $4::smallint)
    order by n.position, n.idx limit $5`),
  values: [customerId, FEED, position, idx, limit + 1],
});

const columns =
  'n.position, n.idx, n.id, n.kind, n.resource_type, n.resource_id, n.advertiser_id, n.occurred_at, n.revision, n.changed, n.path';

/** The checkpoint and the rows in one snapshot: no row at or before `reached` comes later. */
const feedSql = (entries: string): string => `
  select ${freshnessColumns('f')}, ${isoTimestampSql('clock_timestamp()')} as at, page.items
  from ${freshnessOfAllSql('$1', ['$2'], 'conversion_positions')} f, lateral (
    select coalesce(json_agg(json_strip_nulls(json_build_object(
        'position', e.position, 'idx', e.idx, 'id', e.id, 'kind', e.kind, 'resourceType', e.resource_type,
        'resourceId', e.resource_id, 'advertiserId', e.advertiser_id,
        'occurredAt', ${isoTimestampSql('e.occurred_at')}, 'revision', e.revision, 'changed', e.changed,
        'path', e.path)) order by e.position, e.idx), '[]')::text as items
    from (${entries}) e) page`;
