import type { Pool } from 'pg';
import { JsonMembers, type SyndicationRecord } from '../../../domain/syndication/syndication-resource.ts';
import { coalesce } from '../../../shared/async/coalesce.ts';
import { advisoryLocks } from '../../../shared/postgres/advisory-locks.ts';
import {
  boolArray,
  int4Array,
  int8Array,
  textArray,
  uuidArray,
} from '../../../shared/postgres/binary-array.ts';
import { inTransaction } from '../../../shared/postgres/pool.ts';
import { PostponeJobError } from '../../../shared/queue/job-queue.ts';

/** One generation of one record that waits for a worker. */
export interface Work {
  readonly customerId: number;
  readonly recordId: string;
  readonly generation: number;
  /** It is to be switched off: its advertiser was archived, or it was deleted, whatever it is since. */
  readonly archived: boolean;
  /** How often the resource was changed while this waited: who has seen fewer must not take it from the list. */
  readonly changes: number;
  /** Calls of the agent that came to nothing. */
  readonly attempts: number;
  /** Jobs that ended, or were gone, without a word. */
  readonly lost: number;
}

/** Work that was handed out. */
export interface OfferedWork extends Work {
  /** It was offered before, and nobody has said that the run of its job is over. */
  readonly again: boolean;
}

/** What becomes of work whose run is over. */
export interface Rest {
  /** Until it is offered again, unless it is done by then, ms. */
  readonly afterMs: number;
  /** The agent was called, and it came to nothing. */
  readonly tried: boolean;
  /** It keeps its account's turn meanwhile. */
  readonly keepsTurn?: boolean;
  /** Why it is to be run again. */
  readonly error?: string;
}

export interface Holders {
  /** Another advertiser of the account has it there, or had it and it is not dropped yet. */
  readonly isOtherAdvertisers: boolean;
  /** The same advertiser has it there through another registration of the agent. */
  readonly isOtherRegistrations: boolean;
  /** Somebody's delivery of it has failed, or its agent could not be told to drop it: nobody knows what is there. */
  readonly isUnsure: boolean;
}

/** What is to stay at an agent. */
export interface KeptResource {
  readonly advertiserId: number;
  readonly resourceId: string;
  /** What the agent was asked for when it took what it has, where it is to have something newer. */
  readonly stillThere?: JsonMembers | undefined;
  /** Bringing it up to date has failed: the older state is what stays. */
  readonly hasFailed: boolean;
}

export interface WorkList {
  /**
   * At most `countMax` of what is due; of the accounts that have the fewest turns first, and of each one so much that
   * no more than `perAccountMax` of its records have a turn in the whole installation. A turn ends when somebody says
   * so; until then the record is offered again every `AGAIN_SECONDS`, whatever became of its job. Nothing while the
   * read model is made anew: it says of many a record what was so once.
   */
  offer(countMax: number): Promise<readonly OfferedWork[]>;
  /** Its run is over: something else of its account may be offered. */
  rest(work: Work, rest: Rest): Promise<void>;
  /** Their jobs were gone without a word. */
  countLost(works: readonly Work[]): Promise<void>;
  /** Takes from the list what turned out to need no work. */
  drop(work: Work): Promise<void>;
  /**
   * Who else has something of this id at the same account of the agent, however often that is registered.
   * @throws PostponeJobError while the read model is made anew
   */
  holders(record: SyndicationRecord): Promise<Holders>;
  /**
   * The resources of one type that are to be at an agent's account now, by advertiser.
   * @throws PostponeJobError while the read model is made anew
   */
  kept(record: SyndicationRecord, countMax: number): Promise<readonly KeptResource[]>;
}

export interface WorkListOptions {
  /**
   * Sees the rows of all accounts. Its commits need not wait for the disk: a turn that was given or ended and is lost in
   * a crash of the server is given once more, and the run finds the work begun, or done.
   */
  readonly pool: Pool;
  /** Called when something of an account was freed by this process. */
  readonly freed?: () => void;
  readonly perAccountMax?: number;
}

/** Turns of one account, in the whole installation. */
const PER_ACCOUNT_MAX = 10;
const AGAIN_SECONDS = 15;
/** Longer than the queue takes to see that a job is over: added before that, it would silently not be. */
export const RETRY_MS_MIN = 250;
/** What is done is taken from the list by the read model, which may be a moment behind. */
export const DONE: Rest = { afterMs: AGAIN_SECONDS * 1_000, tried: false };

interface WorkRow {
  readonly customer_id: string;
  readonly record_id: string;
  readonly generation: number;
  readonly archived: boolean;
  readonly changes: number;
  readonly attempts: number;
  readonly lost: number;
  readonly again: boolean;
}

export const createWorkList = ({
  pool,
  freed = () => undefined,
  perAccountMax = PER_ACCOUNT_MAX,
}: WorkListOptions): WorkList => {
  const rest = coalesce(restAll(pool), { batchMax: 100, inFlightMax: 1 });
  return {
    offer: (countMax) => offer(pool, countMax, perAccountMax),
    rest: async (work, how) => {
      await rest({ work, how });
      freed();
    },
    countLost: async (works) => {
      await pool.query({
        name: 'syndication-work-lost',
        text: `with lost as (
                 select w.customer_id, w.record_id
                 from unnest($1::bigint[], $2::uuid[], $3::int[]) as l(customer_id, record_id, generation)
                 join syndication_work w on w.customer_id = l.customer_id and w.record_id = l.record_id
                   and w.generation = l.generation
                 for update of w skip locked
               )
               update syndication_work w set lost = w.lost + 1 from lost
               where w.customer_id = lost.customer_id and w.record_id = lost.record_id`,
        values: [...keysOf(works)],
      });
    },
    drop: async ({ customerId, recordId, generation, changes }) => {
      await pool.query({
        name: 'syndication-work-drop',
        text: `delete from syndication_work where customer_id = $1 and record_id = $2 and generation = $3 and changes = $4`,
        values: [customerId, recordId, generation, changes],
      });
    },
    holders: holders(pool),
    kept: kept(pool),
  };
};

/**
 * Whether the read models hold all that they once held. While one is made anew, what is missing would be dropped at
 * agents, as what is not to stay there.
 */
const IS_WHOLE = `coalesce((select bool_and(position >= whole_at) from projection_checkpoints
                            where name in ('syndication', 'agents')), true)`;
const NOT_WHOLE_MS = 2_000;

const notWhole = (): PostponeJobError =>
  new PostponeJobError('what is at agents is not known again yet', NOT_WHOLE_MS);

/**
 * An agent may be registered more than once, above all to give it another token: by its address it is one, and what
 * one registration is told to drop goes for all of them.
 */
const registrationsOf = (customerId: string, agentId: string): string => `registrations (id) as (
  select ${agentId}
  union
  select other.id from adcp_agents own
  join adcp_agents other on other.customer_id = own.customer_id
    and other.body::json ->> 'url' = own.body::json ->> 'url'
  where own.customer_id = ${customerId} and own.id = ${agentId}
)`;

/** Bringing it up to date has failed: the agent has what it had before. */
const IS_STILL_THERE = `(r.status = 'FAILED' and r.body::json -> 'atAgent' -> 'older' is not null)`;

interface KeptRow {
  readonly advertiser_id: number;
  readonly resource_id: string;
  readonly still_there: string | null;
  readonly has_failed: boolean;
}

/** Jobs that start together are answered by one statement; one that takes long holds up nobody for longer than that. */
const HOLDERS_TOGETHER = { batchMax: 50, inFlightMax: 4, patienceMs: 50 };

const holders = (pool: Pool): WorkList['holders'] => {
  const ask = coalesce(holdersOf(pool), HOLDERS_TOGETHER);
  return async (record) => {
    const { isWhole, ...found } = await ask(record);
    if (!isWhole) throw notWhole();
    return found;
  };
};

/** Another record of the same id at the same account of the agent. Each use adds what the partial index of it holds. */
const IS_SAME = `r.customer_id = a.customer_id and r.agent_id = any(array(select id from registrations))
  and r.account = a.account and r.resource_type = a.resource_type and r.resource_id = a.resource_id
  and r.id <> a.record_id`;

type HoldersRow = Holders & { readonly isWhole: boolean };

const holdersOf =
  (pool: Pool) =>
  async (records: readonly SyndicationRecord[]): Promise<readonly HoldersRow[]> => {
    const { rows } = await pool.query<HoldersRow>({
      name: 'syndication-holders',
      text: `select ${IS_WHOLE} as "isWhole", h.*
             from unnest($1::bigint[], $2::uuid[], $3::text[], $4::text[], $5::text[], $6::uuid[], $7::int[])
               with ordinality as a (customer_id, agent_id, account, resource_type, resource_id, record_id,
                                     advertiser_id, n),
             lateral (
               with ${registrationsOf('a.customer_id', 'a.agent_id')}, found as (
                 select r.advertiser_id <> a.advertiser_id as is_other, r.waiting, r.status,
                   ${IS_STILL_THERE} as is_still_there
                 from syndication_records r
                 where ${IS_SAME} and (r.status <> 'DISABLED' or r.waiting)
               )
               select
                 exists (select from found where is_other and (status <> 'FAILED' or waiting or is_still_there))
                   as "isOtherAdvertisers",
                 exists (select from found where not is_other
                         and (status in ('PENDING', 'SYNCING', 'COMPLETED') or is_still_there))
                   as "isOtherRegistrations",
                 exists (select from found where status = 'FAILED')
                   or exists (select from syndication_records r where ${IS_SAME} and r.left_there) as "isUnsure"
             ) h order by a.n`,
      values: [
        int8Array(records.map(({ customerId }) => customerId)),
        uuidArray(records.map(({ agentId }) => agentId)),
        textArray(records.map(({ account }) => JSON.stringify(account))),
        textArray(records.map(({ resourceType }) => resourceType)),
        textArray(records.map(({ resourceId }) => resourceId)),
        uuidArray(records.map(({ recordId }) => recordId)),
        int4Array(records.map(({ advertiserId }) => advertiserId)),
      ],
    });
    return rows;
  };

const kept =
  (pool: Pool): WorkList['kept'] =>
  async ({ customerId, agentId, account, resourceType }, countMax) => {
    const { rows: whole } = await pool.query<{ isWhole: boolean }>({
      name: 'syndication-whole',
      text: `select ${IS_WHOLE} as "isWhole"`,
    });
    if (whole[0]?.isWhole !== true) throw notWhole();
    const { rows } = await pool.query<KeptRow>({
      name: 'syndication-kept',
      text: `with ${registrationsOf('$1', '$2::uuid')}
             select distinct on (r.advertiser_id, r.resource_id) r.advertiser_id, r.resource_id,
               case when r.status <> 'COMPLETED' then r.body::json -> 'atAgent' ->> 'older' end as still_there,
               r.status = 'FAILED' as has_failed
             from syndication_records r
             where r.customer_id = $1 and r.agent_id = any(array(select id from registrations))
               and r.account = $3 and r.resource_type = $4
               and (r.status <> 'DISABLED' or r.waiting)
               and (r.status in ('PENDING', 'SYNCING', 'COMPLETED') or ${IS_STILL_THERE})
             order by r.advertiser_id, r.resource_id, r.status = 'FAILED' limit $5`,
      values: [customerId, agentId, JSON.stringify(account), resourceType, countMax],
    });
    return rows.map(({ advertiser_id, resource_id, still_there, has_failed }) => ({
      hasFailed: has_failed,
      advertiserId: advertiser_id,
      resourceId: resource_id,
      stillThere: still_there === null ? undefined : JsonMembers.parse(JSON.parse(still_there)),
    }));
  };

/**
 * One process at a time counts turns and gives more, on what the one before it has written: a statement
 * sees what was committed when it began, so the lock is another one. Rows that the read model is at are passed over.
 */
const offer = (pool: Pool, countMax: number, perAccountMax: number): Promise<readonly OfferedWork[]> =>
  inTransaction(pool, async (client) => {
    await client.query({
      name: 'syndication-offer-lock',
      text: 'select pg_advisory_xact_lock($1)',
      values: [advisoryLocks.syndicationOffers],
    });
    const { rows } = await client.query<WorkRow>({
      name: 'syndication-offer',
      text: `with recursive accounts (customer_id) as (
               (select customer_id from syndication_work where ${IS_WHOLE} order by customer_id limit 1)
               union all
               select (select w.customer_id from syndication_work w where w.customer_id > a.customer_id
                       order by w.customer_id limit 1)
               from accounts a where a.customer_id is not null
             ), counted as (
               select a.customer_id, (select count(*) from syndication_work w
                                      where w.customer_id = a.customer_id and w.has_turn) as turns
               from accounts a where a.customer_id is not null
             ), due as (
               select again.customer_id, again.record_id, again.due_at, 0 as turn
               from counted c, lateral (
                 select w.customer_id, w.record_id, w.due_at from syndication_work w
                 where w.customer_id = c.customer_id and w.has_turn and w.due_at <= now()
               ) again
               union all
               select first.customer_id, first.record_id, first.due_at, first.turn
               from counted c, lateral (
                 select w.customer_id, w.record_id, w.due_at,
                   c.turns + row_number() over (order by w.due_at) as turn
                 from syndication_work w
                 where w.customer_id = c.customer_id and not w.has_turn and w.due_at <= now()
                 order by w.due_at limit greatest($2 - c.turns, 0)
               ) first
               order by turn, due_at limit $1
             ), taken as (
               select w.customer_id, w.record_id, w.has_job as again from due
               join syndication_work w on w.customer_id = due.customer_id and w.record_id = due.record_id
               for update of w skip locked
             )
             update syndication_work w set has_turn = true, has_job = true, due_at = now() + make_interval(secs => $3)
             from taken
             where w.customer_id = taken.customer_id and w.record_id = taken.record_id
             returning w.customer_id, w.record_id, w.generation, w.archived, w.changes, w.attempts, w.lost,
               taken.again`,
      values: [countMax, perAccountMax, AGAIN_SECONDS],
    });
    return rows.map(({ customer_id, record_id, ...row }) => ({
      customerId: Number(customer_id),
      recordId: record_id,
      ...row,
    }));
  });

/**
 * A row that is locked is being done away with, or given to a newer generation: nothing is left to be said of it. One that
 * has changed while its job ran is due as soon as it may be.
 */
const restAll =
  (pool: Pool) =>
  async (over: readonly { readonly work: Work; readonly how: Rest }[]): Promise<readonly void[]> => {
    await pool.query({
      name: 'syndication-work-rest',
      text: `with over as (
               select w.customer_id, w.record_id, o.tried, o.keeps_turn, o.error,
                 case when w.archived = o.archived and w.changes = o.changes then o.after_ms else $9 end as after_ms
               from unnest($1::bigint[], $2::uuid[], $3::int[], $4::boolean[], $5::int[], $6::boolean[],
                      $7::boolean[], $8::int[], $10::text[])
                 as o(customer_id, record_id, generation, archived, after_ms, tried, keeps_turn, changes, error)
               join syndication_work w on w.customer_id = o.customer_id and w.record_id = o.record_id
                 and w.generation = o.generation
               for update of w skip locked
             )
             update syndication_work w
               set has_turn = over.keeps_turn, has_job = false, due_at = now() + over.after_ms * interval '1 millisecond',
                 attempts = w.attempts + over.tried::int, lost = 0, last_error = nullif(over.error, '')
             from over where w.customer_id = over.customer_id and w.record_id = over.record_id`,
      values: [
        ...keysOf(over.map(({ work }) => work)),
        boolArray(over.map(({ work }) => work.archived)),
        int4Array(over.map(({ how }) => Math.ceil(how.afterMs))),
        boolArray(over.map(({ how }) => how.tried)),
        boolArray(over.map(({ how }) => how.keepsTurn === true)),
        int4Array(over.map(({ work }) => work.changes)),
        RETRY_MS_MIN,
        textArray(over.map(({ how }) => how.error ?? '')),
      ],
    });
    return over.map(() => undefined);
  };

const keysOf = (works: readonly Work[]): readonly [Buffer, Buffer, Buffer] => [
  int8Array(works.map(({ customerId }) => customerId)),
  uuidArray(works.map(({ recordId }) => recordId)),
  int4Array(works.map(({ generation }) => generation)),
];
