import type { Pool } from 'pg';
import { coalesce } from '../async/coalesce.ts';
import type { JsonObject } from '../event-store/event-store.ts';
import { advisoryLocks } from '../postgres/advisory-locks.ts';
import { int4Array, int8Array, textArray, uuidArray } from '../postgres/binary-array.ts';
import { shownText } from '../outbound/shown-text.ts';
import { inTransaction } from '../postgres/pool.ts';

export interface WorkEntry {
  readonly kind: string;
  readonly customerId: number;
  readonly key: string;
  readonly revision: string;
  readonly askedAt: string;
  readonly data: JsonObject;
  readonly attempts: number;
  /** Jobs that ended without a result since the last result. */
  readonly lost: number;
  /** The span whose trace its runs continue (W3C). */
  readonly traceparent?: string | null;
  /** The correlation id of the event that requested it last. */
  readonly correlationId?: string | null;
}

export interface OfferedEntry extends WorkEntry {
  /** The revision of an earlier job that has not reported its end. */
  readonly leasedRevision: string | undefined;
}

/** After any result, an entry that got a new revision during the run stays on the list. */
export type WorkResult =
  | { readonly is: 'done' }
  /** `afterMs` absent: due with a new revision. */
  | { readonly is: 'next'; readonly afterMs?: number }
  /** `isTry`: counts as one of the attempts. */
  | {
      readonly is: 'again';
      readonly afterMs: number;
      readonly isTry: boolean;
      /** New revisions wait, too: at least this time, e.g. the `Retry-After` of a server. Default: 0. */
      readonly holdMs?: number;
      readonly reason: string;
    }
  /** The last try failed. The entry stays for its reason, due with a new revision. */
  | { readonly is: 'ended'; readonly reason: string };

export const DONE: WorkResult = { is: 'done' };

export interface OfferOptions {
  readonly countMax: number;
  /** In the whole installation. */
  readonly perAccountMax: number;
}

export interface WorkList {
  due(kinds: readonly string[]): Promise<readonly string[]>;
  /** First entries whose lease ended without a result, then those of the accounts with the fewest leases. */
  offer(kind: string, options: OfferOptions): Promise<readonly OfferedEntry[]>;
  countLost(entries: readonly WorkEntry[]): Promise<void>;
  noteError(entry: WorkEntry, reason: string): Promise<void>;
  /** Ends the lease. @param gapMs time for which the entry is not due, also with a new revision */
  settle(entry: WorkEntry, result: WorkResult, gapMs?: number): Promise<void>;
}

const LEASE_SECONDS = 15;
/** Longer than the queue takes to end a job: until then a job of the same id would not be added. */
export const AGAIN_MS_MIN = 250;

/** @param pool sees the rows of all accounts. May commit asynchronously: lost work is done once more */
export const createWorkList = (pool: Pool): WorkList => {
  const settleSome = coalesce(
    async (ends: readonly End[]) => {
      const reached = await settleAll(pool, ends, 'skip locked');
      return ends.map(({ entry }) => reached.has(placeOf(entry)));
    },
    { batchMax: 100, inFlightMax: 1 },
  );
  return {
    due: async (kinds) => {
      const { rows } = await pool.query<{ kind: string }>({
        name: 'work-due',
        text: `select kind from unnest($1::text[]) as k(kind)
               where exists (select from work_list w
                             where w.kind = k.kind and w.leased_until is null and w.due_at <= now())
                 or exists (select from work_list w where w.kind = k.kind and w.leased_until <= now())`,
        values: [textArray(kinds)],
      });
      return rows.map(({ kind }) => kind);
    },
    offer: (kind, options) => offer(pool, kind, options),
    countLost: async (entries) => {
      await pool.query({
        name: 'work-lost',
        text: `with lost as (
                 select w.kind, w.customer_id, w.key
                 from unnest($1::text[], $2::bigint[], $3::uuid[], $4::text[]) as l(kind, customer_id, key, revision)
                 join work_list w using (kind, customer_id, key, revision)
                 for update of w skip locked
               )
               update work_list w set lost = w.lost + 1, leased_revision = w.revision
               from lost where (w.kind, w.customer_id, w.key) = (lost.kind, lost.customer_id, lost.key)`,
        values: [...keysOf(entries), textArray(entries.map(({ revision }) => revision))],
      });
    },
    noteError: async ({ kind, customerId, key, revision }, reason) => {
      await pool.query({
        name: 'work-error',
        text: `update work_list set last_error = $5, failed_at = now()
               where kind = $1 and customer_id = $2 and key = $3 and revision = $4`,
        values: [kind, customerId, key, revision, shownText(reason)],
      });
    },
    settle: async (entry, result, gapMs = 0) => {
      const end = { entry, result, gapMs };
      if (await settleSome(end)) return;
      // A projection has locked the row, and the result depends on what it writes.
      await settleAll(pool, [end], '').catch((error: unknown) => {
        // Locked for long: the entry is offered again when its lease ends.
        if (!isNotReached(error)) throw error;
      });
    },
  };
};

/** Cancelled by its timeout, or to end a deadlock. */
const isNotReached = (error: unknown): boolean =>
  error instanceof Error && 'code' in error && (error.code === '57014' || error.code === '40P01');

interface EntryRow {
  readonly customer_id: string;
  readonly key: string;
  readonly revision: string;
  readonly askedAt: string;
  readonly data: JsonObject;
  readonly attempts: number;
  readonly lost: number;
  readonly traceparent: string | null;
  readonly correlationId: string | null;
  readonly before: string | null;
}

/** With more due entries, all accounts of the kind are read: a long backlog must not hide the others. */
const DUE_FEW = 1_000;

// Only one process counts leases at a time. The lock needs a separate statement: each sees what was committed
// when it began.
const offer = (
  pool: Pool,
  kind: string,
  { countMax, perAccountMax }: OfferOptions,
): Promise<readonly OfferedEntry[]> =>
  inTransaction(pool, async (client) => {
    await client.query({
      name: 'work-offer-lock',
      text: 'select pg_advisory_xact_lock($1)',
      values: [advisoryLocks.workOffers],
    });
    const { rows } = await client.query<EntryRow>({
      name: 'work-offer',
      text: `with recursive oldest as materialized (
               select customer_id from work_list
               where kind = $1 and leased_until is null and due_at <= now() order by due_at limit ${DUE_FEW}
             ), accounts (customer_id) as (
               (select customer_id from work_list where kind = $1 and (select count(*) from oldest) = ${DUE_FEW}
                order by customer_id limit 1)
               union all
               select (select w.customer_id from work_list w where w.kind = $1 and w.customer_id > a.customer_id
                       order by w.customer_id limit 1)
               from accounts a where a.customer_id is not null
             ), counted as (
               select a.customer_id, (select count(*) from work_list w where w.kind = $1
                                      and w.customer_id = a.customer_id and w.leased_until is not null) as leases
               from (select customer_id from oldest union select customer_id from accounts) a
               where a.customer_id is not null
             ), due as (
               select w.customer_id, w.key, w.leased_until as due_at, 0 as turn from work_list w
               where w.kind = $1 and w.leased_until <= now()
               union all
               select first.customer_id, first.key, first.due_at, first.turn
               from counted c, lateral (
                 select w.customer_id, w.key, w.due_at,
                   c.leases + row_number() over (order by w.due_at rows unbounded preceding) as turn
                 from work_list w
                 where w.kind = $1 and w.customer_id = c.customer_id and w.leased_until is null and w.due_at <= now()
                 order by w.due_at limit greatest($3 - c.leases, 0)
               ) first
               order by turn, due_at limit $2
             ), taken as (
               select w.customer_id, w.key, w.leased_revision as before from due
               join work_list w on w.kind = $1 and w.customer_id = due.customer_id and w.key = due.key
               for update of w skip locked
             )
             update work_list w set leased_until = now() + make_interval(secs => $4),
               leased_revision = coalesce(w.leased_revision, w.revision)
             from taken where w.kind = $1 and w.customer_id = taken.customer_id and w.key = taken.key
             returning w.customer_id, w.key, w.revision, w.asked_at::text as "askedAt", w.data, w.attempts, w.lost, w.traceparent,
               w.correlation_id as "correlationId",
               taken.before`,
      values: [kind, countMax, perAccountMax, LEASE_SECONDS],
    });
    return rows.map(({ customer_id, before, ...row }) => ({
      kind,
      customerId: Number(customer_id),
      ...row,
      leasedRevision: before ?? undefined,
    }));
  });

interface End {
  readonly entry: WorkEntry;
  readonly result: WorkResult;
  readonly gapMs: number;
}

const placeOf = ({ kind, customerId, key }: Pick<WorkEntry, 'kind' | 'customerId' | 'key'>): string =>
  `${kind} ${customerId} ${key}`;

const settleAll = async (
  pool: Pool,
  ends: readonly End[],
  locked: 'skip locked' | '',
): Promise<ReadonlySet<string>> => {
  const { rows } = await pool.query<{ kind: string; customer_id: string; key: string }>({
    name: `work-settle-${locked}`,
    text: `with ended as (
             select w.kind, w.customer_id, w.key, o.result, o.attempts, o.reason, o.after_ms, o.gap_ms,
               w.asked_at = o.asked_at::timestamptz as is_same, w.revision = o.revision as is_same_revision
             from unnest($1::text[], $2::bigint[], $3::uuid[], $4::text[], $5::text[], $6::text[], $7::int[],
                    $8::text[], $9::bigint[], $10::bigint[])
               as o(kind, customer_id, key, revision, asked_at, result, attempts, reason, after_ms, gap_ms)
             join work_list w using (kind, customer_id, key)
             order by w.customer_id, w.key for update of w ${locked}
           ), done as (
             delete from work_list w using ended e
             where w.kind = e.kind and w.customer_id = e.customer_id and w.key = e.key
               and e.result = 'done' and e.is_same
           ), released as (
             update work_list w
             set leased_until = null, leased_revision = null, lost = 0,
               not_before = now() + e.gap_ms * interval '1 millisecond',
               due_at = greatest(now() + greatest(e.gap_ms, $11) * interval '1 millisecond',
                 case when not e.is_same then w.due_at
                   when e.after_ms < 0 then 'infinity' else now() + e.after_ms * interval '1 millisecond' end),
               attempts = case when not e.is_same_revision or e.result = 'next' then 0
                 else greatest(w.attempts, e.attempts) end,
               last_error = case when e.is_same_revision or e.gap_ms > 0 then nullif(e.reason, '') end,
               failed_at = case when (e.is_same_revision or e.gap_ms > 0) and e.reason <> '' then now() end
             from ended e
             where w.kind = e.kind and w.customer_id = e.customer_id and w.key = e.key
               and not (e.result = 'done' and e.is_same)
           )
           select kind, customer_id, key from ended`,
    values: [
      ...keysOf(ends.map(({ entry }) => entry)),
      textArray(ends.map(({ entry }) => entry.revision)),
      textArray(ends.map(({ entry }) => entry.askedAt)),
      textArray(ends.map(({ result }) => result.is)),
      // Counted from the run, not from the row: the same run may end twice.
      int4Array(ends.map(({ entry, result }) => entry.attempts + (isTry(result) ? 1 : 0))),
      textArray(ends.map(({ result }) => ('reason' in result ? shownText(result.reason) : ''))),
      int8Array(ends.map(({ result }) => afterMsOf(result))),
      int8Array(ends.map(({ result, gapMs }) => Math.max(gapMs, holdMsOf(result)))),
      AGAIN_MS_MIN,
    ],
  });
  return new Set(rows.map(({ customer_id, ...row }) => placeOf({ ...row, customerId: Number(customer_id) })));
};

const isTry = (result: WorkResult): boolean =>
  result.is === 'ended' || (result.is === 'again' && result.isTry);

/** Negative: not before the next request. */
const afterMsOf = (result: WorkResult): number => {
  if (result.is === 'done') return 0;
  return result.is === 'ended' || result.afterMs === undefined ? -1 : Math.ceil(result.afterMs);
};

const holdMsOf = (result: WorkResult): number => (result.is === 'again' ? Math.ceil(result.holdMs ?? 0) : 0);

const keysOf = (entries: readonly WorkEntry[]): readonly Buffer[] => [
  textArray(entries.map(({ kind }) => kind)),
  int8Array(entries.map(({ customerId }) => customerId)),
  uuidArray(entries.map(({ key }) => key)),
];
