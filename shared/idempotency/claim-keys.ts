import type { Pool } from 'pg';
import { commandIdOfKey } from '../aggregate/ids.ts';
import { type Claim, type ClaimRequest, REPLAY_HOURS } from './claim.ts';

/** Longer than any request (3 s). A shorter one would be harmless: two runs have one effect. */
const LEASE_SECONDS = 5;

const DAY = `to_char(claimed_at at time zone 'utc', 'YYYYMMDD')`;

interface ClaimedRow {
  readonly scope: string;
  readonly key: string;
  readonly reserved: string;
  readonly day: string;
  readonly lease: string;
  readonly is_first: boolean;
}

interface KeptRow {
  readonly scope: string;
  readonly key: string;
  readonly fingerprint: Buffer;
  readonly reserved: string;
  readonly day: string;
  readonly status: number | null;
  /** Null with a status: the answer was not stored. */
  readonly body: string | null;
}

const nameOf = ({ scope, key }: { readonly scope: string; readonly key: string }): string =>
  `${scope} ${key}`;

export const claimAll = async (pool: Pool, requests: readonly ClaimRequest[]): Promise<readonly Claim[]> => {
  const claims = new Map<ClaimRequest, Claim>();
  let waiting = requests;
  while (waiting.length > 0) {
    const round = [...new Map(waiting.toReversed().map((request) => [nameOf(request), request])).values()];
    const claimed = await insertClaims(pool, round);
    for (const request of round) {
      const row = claimed.get(nameOf(request));
      if (row !== undefined) claims.set(request, claimedBy(row));
    }
    // All waiting requests, so that many requests with one key do not cost a round trip each.
    const lost = waiting.filter((request) => !claims.has(request));
    for (const [request, claim] of await judge(pool, lost)) claims.set(request, claim);
    waiting = waiting.filter((request) => !claims.has(request));
  }
  return requests.map((request) => claims.get(request) ?? { outcome: 'in-flight' });
};

const claimedBy = ({ scope, key, day, lease, is_first, reserved }: ClaimedRow): Claim => ({
  outcome: 'claimed',
  lease,
  isFirst: is_first,
  commandId: commandIdOfKey(scope, key, day),
  reserved: reservedIn(reserved),
});

const reservedIn = (json: string): Readonly<Record<string, number>> =>
  JSON.parse(json) as Record<string, number>;

/** A claim that is taken over after its lease keeps its reserved values. */
const insertClaims = async (
  pool: Pool,
  requests: readonly ClaimRequest[],
): Promise<Map<string, ClaimedRow>> => {
  const { rows } = await pool.query<ClaimedRow>({
    name: 'idempotency-claim',
    text: `
      insert into idempotency_keys as k (scope, key, fingerprint, reserved, lease_until)
      select scope, key, fingerprint, reserved, clock_timestamp() + interval '${LEASE_SECONDS} seconds'
      from unnest($1::text[], $2::text[], $3::bytea[], $4::text[]) as asked(scope, key, fingerprint, reserved)
      order by scope, key
      on conflict (scope, key) do update set
        lease_until = excluded.lease_until,
        fingerprint = excluded.fingerprint,
        reserved = case when k.completed_at is null then k.reserved else excluded.reserved end,
        claimed_at = case when k.completed_at is null then k.claimed_at else clock_timestamp() end,
        completed_at = null, status = null, body = null
      where (k.completed_at is null and k.lease_until <= clock_timestamp() and k.fingerprint = excluded.fingerprint)
         or k.completed_at <= clock_timestamp() - interval '${REPLAY_HOURS} hours'
      returning scope, key, reserved, ${DAY} as day, lease_until::text as lease,
        xmax = 0 as is_first`,
    values: [
      requests.map(({ scope }) => scope),
      requests.map(({ key }) => key),
      requests.map(({ fingerprint }) => fingerprint),
      requests.map(({ reserved }) => JSON.stringify(reserved)),
    ],
  });
  return new Map(rows.map((row) => [nameOf(row), row]));
};

/** A row that was deleted meanwhile gives no result. */
const judge = async (
  pool: Pool,
  requests: readonly ClaimRequest[],
): Promise<readonly (readonly [ClaimRequest, Claim])[]> => {
  if (requests.length === 0) return [];
  const { rows } = await pool.query<KeptRow>({
    name: 'idempotency-kept',
    text: `select k.scope, k.key, k.fingerprint, k.reserved, ${DAY} as day, k.status, k.body
           from unnest($1::text[], $2::text[]) as asked(scope, key)
           join idempotency_keys k on k.scope = asked.scope and k.key = asked.key`,
    values: [requests.map(({ scope }) => scope), requests.map(({ key }) => key)],
  });
  const kept = new Map(rows.map((row) => [nameOf(row), row]));
  return requests.flatMap((request) => {
    const row = kept.get(nameOf(request));
    return row === undefined ? [] : [[request, judged(request, row)] as const];
  });
};

const judged = (request: ClaimRequest, row: KeptRow): Claim => {
  const { scope, key, fingerprint, reserved, day, status, body } = row;
  if (!fingerprint.equals(request.fingerprint)) return { outcome: 'mismatch' };
  if (status === null) return { outcome: 'in-flight' };
  if (body !== null) return { outcome: 'done', answer: { status, body } };
  return {
    outcome: 'done-unkept',
    commandId: commandIdOfKey(scope, key, day),
    reserved: reservedIn(reserved),
  };
};
