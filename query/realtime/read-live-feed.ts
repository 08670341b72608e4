import type { Pool } from 'pg';
import { notificationBody } from '../../domain/notifications/body.ts';
import { ACCESS_CHANGED } from '../../domain/notifications/kinds.ts';
import { isoTimestampSql } from '../../shared/postgres/build-statement.ts';
import type { TenantDatabase } from '../../shared/postgres/tenant-database.ts';
import { LAST_IDX, type FeedCursors, type FeedPlace } from '../notifications/cursor.ts';
import { readWholeFeed, type FeedEntry } from '../notifications/feed.ts';
import { notificationFrame } from './frames.ts';
import type { AccountPlace, LiveEntry, LiveFeed } from './live-feed.ts';

export interface LiveFeedOptions {
  /** Reads positions of all accounts. Notifications are read as their account. */
  readonly pool: Pick<Pool, 'query'>;
  readonly database: TenantDatabase;
  readonly cursors: FeedCursors;
  readonly baseUrl: () => string;
}

interface EndRow {
  readonly position: string;
  readonly at: string;
}

const placeOf = ({ position, at }: EndRow): FeedPlace => ({ position, idx: LAST_IDX, at });

/** @param position SQL */
const endColumns = (position: string): string =>
  `coalesce((select ${position} from projection_checkpoints where name = 'notifications'), '-') as position,
   ${isoTimestampSql('clock_timestamp()')} as at`;

export const createLiveFeed = (options: LiveFeedOptions): LiveFeed => {
  const { pool, database, cursors, baseUrl } = options;
  const entryOf = async (customerId: number, entry: FeedEntry): Promise<LiveEntry> => {
    const { position, idx, occurredAt: at, kind, advertiserId, path } = entry;
    const place = { position, idx, at };
    if (kind === ACCESS_CHANGED) return { place, kind, advertiserId, path, changesAccess: true, frame: '' };
    const id = await cursors.of(customerId, place);
    const frame = notificationFrame(id, kind, notificationBody(entry, baseUrl()));
    return { place, kind, advertiserId, path, changesAccess: false, frame };
  };
  return {
    end: async () => {
      // A read model that is reset reads the log again, up to `whole_at`: none of that is new.
      const { rows } = await pool.query<EndRow>({
        name: 'realtime-end',
        text: `select ${endColumns('greatest(position, whole_at)')}`,
      });
      return placeOf(rows[0] as EndRow);
    },
    news: async (accounts) => {
      const { rows } = await pool.query<EndRow & { readonly customerIds: readonly string[] }>(
        newsQuery(accounts),
      );
      const [row] = rows as [(typeof rows)[number]];
      return { end: placeOf(row), customerIds: row.customerIds.map(Number) };
    },
    page: async (customerId, after, limit) => {
      const { entries, ...page } = await readWholeFeed({ database }, customerId, after, limit);
      return { ...page, entries: await Promise.all(entries.map((entry) => entryOf(customerId, entry))) };
    },
    countedConversions: async (customerIds) => {
      const { rows } = await pool.query<{ readonly customerId: string; readonly position: string }>({
        name: 'realtime-conversions',
        text: `select p.customer_id as "customerId", least(p.position, c.position collate "C") as position
               from conversion_positions p, projection_checkpoints c
               where p.customer_id = any($1::bigint[]) and c.name = 'conversions'`,
        values: [customerIds],
      });
      return new Map(rows.map(({ customerId, position }) => [Number(customerId), position]));
    },
    cursorOf: (customerId, place) => cursors.of(customerId, place),
    isAccessKnown: async (position) => {
      const { rows } = await pool.query<{ readonly isKnown: boolean }>({
        name: 'realtime-access',
        text: `select exists (select from projection_checkpoints
                 where name = 'credentials' and position >= $1 collate "C") as "isKnown"`,
        values: [position],
      });
      return rows[0]?.isKnown === true;
    },
  };
};

/** In one snapshot with the checkpoint: an account that is not named has nothing up to it. One index probe an account. */
export const newsQuery = (accounts: readonly AccountPlace[]) => ({
  name: 'realtime-news',
  text: `
  select ${endColumns('position')}, array(
    select a.customer_id from unnest($1::bigint[], $2::text[], $3::smallint[]) as a(customer_id, position, idx)
    where exists (select from notifications n where n.customer_id = a.customer_id
      and (n.position, n.idx) > (a.position collate "C", a.idx))) as "customerIds"`,
  values: [
    accounts.map(({ customerId }) => customerId),
    accounts.map(({ place }) => place.position),
    accounts.map(({ place }) => place.idx),
  ],
});
