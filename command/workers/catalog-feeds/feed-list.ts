import type { Pool } from 'pg';
import { advisoryLocks } from '../../../shared/postgres/advisory-locks.ts';
import { inTransaction } from '../../../shared/postgres/pool.ts';

/** A feed that is to be read now. */
export interface DueFeed {
  readonly customerId: number;
  readonly catalogId: string;
  /** Of what asked for it: asked for again meanwhile, it is due again whatever comes of this. */
  readonly revision: number;
  /** Which reading this is since the last one that came to something; from 1. */
  readonly attempt: number;
  /** Until when it is this reader's: who was given it after that has another. */
  readonly lease: string;
}

/** When a feed is read next: never, for there is none; not by itself; or after so long, ms. */
export type NextReading = 'gone' | 'asked' | { readonly afterMs: number; readonly isRead: boolean };

export interface FeedList {
  /**
   * At most so many of what is due, of the accounts in turn, and of each account no more than `perAccountMax` at once in
   * the whole installation. What is not said to be over is due again after its lease, which grows with the attempts: whoever
   * reads a feed may be killed by it.
   */
  claim(countMax: number): Promise<readonly DueFeed[]>;
  /** It was read, or could not be; nothing when its lease is over and somebody else has it. */
  rest(feed: DueFeed, next: NextReading): Promise<void>;
}

/** Longer than a feed may take. */
const LEASE_SECONDS = 120;
const PER_ACCOUNT_MAX = 2;
/** Taken from the clock's order into that of accounts with each look. */
const DUE_MAX = 1_000;

/** @param pool sees the rows of all accounts */
export const createFeedList = (pool: Pool, perAccountMax = PER_ACCOUNT_MAX): FeedList => ({
  claim: (countMax) => claim(pool, countMax, perAccountMax),
  rest: async ({ customerId, catalogId, revision, lease }, next) => {
    if (next === 'gone') {
      const { rowCount } = await pool.query({
        name: 'catalog-feeds-gone',
        text: `delete from catalog_feeds
               where customer_id = $1 and id = $2 and revision = $3 and running_until = $4::timestamptz`,
        values: [customerId, catalogId, revision, lease],
      });
      if (rowCount === 1) return;
    }
    const afterMs = typeof next === 'string' ? null : Math.ceil(next.afterMs);
    const isRead = typeof next === 'string' || next.isRead;
    await pool.query({
      name: 'catalog-feeds-rest',
      // Feeds that were named together are not read together for ever. What was asked for meanwhile is due by that.
      text: `update catalog_feeds
             set running_until = null, is_due = false, read_at = now(),
               attempts = case when revision = $3 and $5 then 0 else attempts end,
               due_at = case when revision <> $3 then now() + interval '1 minute' else
                 coalesce(now() + $4::bigint * (0.95 + 0.1 * random()) * interval '1 millisecond', 'infinity') end
             where customer_id = $1 and id = $2 and running_until = $6::timestamptz`,
      values: [customerId, catalogId, revision, afterMs, isRead, lease],
    });
  },
});

interface DueRow {
  readonly customer_id: string;
  readonly id: string;
  readonly revision: string;
  readonly attempts: number;
  readonly lease: string;
}

/** One process at a time, so that each counts what the one before has claimed. */
const claim = (pool: Pool, countMax: number, perAccountMax: number): Promise<readonly DueFeed[]> =>
  inTransaction(pool, async (client) => {
    await client.query({
      name: 'catalog-feeds-lock',
      text: 'select pg_advisory_xact_lock($1)',
      values: [advisoryLocks.feedClaims],
    });
    await client.query({
      name: 'catalog-feeds-due',
      text: `update catalog_feeds f set is_due = true
             from (select customer_id, id from catalog_feeds where not is_due and due_at <= now()
                   order by due_at limit $1 for update skip locked) due
             where f.customer_id = due.customer_id and f.id = due.id`,
      values: [DUE_MAX],
    });
    const { rows } = await client.query<DueRow>({
      name: 'catalog-feeds-claim',
      text: `with recursive accounts (customer_id) as (
               (select customer_id from catalog_feeds where is_due order by customer_id limit 1)
               union all
               select (select f.customer_id from catalog_feeds f where f.is_due and f.customer_id > a.customer_id
                       order by f.customer_id limit 1)
               from accounts a where a.customer_id is not null
             ), first as (
               select few.* from accounts a, lateral (
                 select f.customer_id, f.id, f.due_at, running.count + row_number() over (order by f.due_at) as turn
                 from (select count(*) from catalog_feeds r
                       where r.customer_id = a.customer_id and r.running_until > now()) running,
                   catalog_feeds f
                 where f.customer_id = a.customer_id and f.is_due
                 order by f.due_at limit $2
               ) few
               where few.turn <= $2
               order by few.turn, few.due_at limit $1
             ), taken as (
               select f.customer_id, f.id from first
               join catalog_feeds f on f.customer_id = first.customer_id and f.id = first.id
               for update of f skip locked
             )
             update catalog_feeds f
             set is_due = false, attempts = f.attempts + 1,
               due_at = now() + make_interval(secs => $3 * 2 ^ least(f.attempts, 6)),
               running_until = now() + make_interval(secs => $3)
             from taken where f.customer_id = taken.customer_id and f.id = taken.id
             returning f.customer_id, f.id, f.revision, f.attempts, f.running_until::text as lease`,
      values: [countMax, perAccountMax, LEASE_SECONDS],
    });
    return rows.map(({ customer_id, id, revision, attempts, lease }) => ({
      customerId: Number(customer_id),
      catalogId: id,
      revision: Number(revision),
      attempt: attempts,
      lease,
    }));
  });
