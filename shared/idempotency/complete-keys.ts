import type { Pool } from 'pg';
import { type StoredAnswer, REPLAY_HOURS } from './claim.ts';

export interface Completion {
  readonly scope: string;
  readonly key: string;
  readonly lease: string;
  /** Null `body`: the answer is not stored. */
  readonly answer: CompletedAnswer;
}

export type CompletedAnswer = StoredAnswer | { readonly status: number; readonly body: null };

/** A longer answer is derived again from the log. */
const BODY_LENGTH_MAX = 256 * 1024;

/** The first answer for a key wins: a second run of the same command has the same answer. */
export const completeAll = async (
  pool: Pool,
  completions: readonly Completion[],
): Promise<readonly void[]> => {
  const isTooLong = ({ answer }: Completion): boolean => (answer.body ?? '').length > BODY_LENGTH_MAX;
  const storable = completions.filter((completion) => !isTooLong(completion));
  await pool.query({
    name: 'idempotency-complete',
    text: `update idempotency_keys k set status = done.status, body = done.body, completed_at = clock_timestamp()
           from unnest($1::text[], $2::text[], $3::smallint[], $4::text[]) as done(scope, key, status, body)
           where k.scope = done.scope and k.key = done.key and k.completed_at is null`,
    values: [
      storable.map(({ scope }) => scope),
      storable.map(({ key }) => key),
      storable.map(({ answer }) => answer.status),
      storable.map(({ answer }) => answer.body),
    ],
  });
  for (const { scope, key, lease } of completions.filter(isTooLong)) await lapseKey(pool, scope, key, lease);
  return completions.map(() => undefined);
};

/**
 * Only with this lease: a run that took the claim over may have had its effect, and after midnight UTC a
 * third request would run the command under another id.
 */
export const releaseKey = async (pool: Pool, scope: string, key: string, lease: string): Promise<void> => {
  await pool.query({
    name: 'idempotency-release',
    text: `delete from idempotency_keys
           where scope = $1 and key = $2 and completed_at is null and lease_until = $3::timestamptz`,
    values: [scope, key, lease],
  });
};

export const lapseKey = async (pool: Pool, scope: string, key: string, lease: string): Promise<void> => {
  await pool.query({
    name: 'idempotency-lapse',
    text: `update idempotency_keys set lease_until = clock_timestamp()
           where scope = $1 and key = $2 and completed_at is null and lease_until = $3::timestamptz`,
    values: [scope, key, lease],
  });
};

export const areHeld = async (
  pool: Pool,
  claims: readonly { readonly scope: string; readonly key: string; readonly lease: string }[],
): Promise<readonly boolean[]> => {
  const { rows } = await pool.query<{ at: number }>({
    name: 'idempotency-held',
    text: `select asked.at::int as at
           from unnest($1::text[], $2::text[], $3::text[]) with ordinality as asked(scope, key, lease, at)
           join idempotency_keys k on k.scope = asked.scope and k.key = asked.key
             and k.completed_at is null and k.lease_until = asked.lease::timestamptz`,
    values: [
      claims.map(({ scope }) => scope),
      claims.map(({ key }) => key),
      claims.map(({ lease }) => lease),
    ],
  });
  const held = new Set(rows.map(({ at }) => at));
  return claims.map((_, index) => held.has(index + 1));
};

/**
 * An abandoned key expires 48 h after its last attempt. Counted from the first one, a retry shortly before 24
 * h would lose its row while it runs, and the next retry would have a second effect.
 */
export const purgeKeys = async (pool: Pool, limit: number): Promise<number> => {
  const { rowCount } = await pool.query({
    name: 'idempotency-purge',
    text: `delete from idempotency_keys where (scope, key) in (
             select scope, key from idempotency_keys
             where claimed_at <= clock_timestamp() - interval '${REPLAY_HOURS} hours'
               and coalesce(completed_at, lease_until + interval '${REPLAY_HOURS} hours')
                 <= clock_timestamp() - interval '${REPLAY_HOURS} hours'
             order by claimed_at limit $1 for update skip locked)`,
    values: [limit],
  });
  return rowCount ?? 0;
};
