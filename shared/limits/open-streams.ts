import { randomUUID } from 'node:crypto';
import type { Pool } from 'pg';
import type { Logger } from 'pino';
import { coalesce } from '../async/coalesce.ts';

/** Specification, Limits. */
export const STREAMS_OF_USER_MAX = 10;

const LEASE_SECONDS = 45;
const RENEW_MS = 15_000;
/** A slot that another request takes first is tried again, in each round with one free slot less. */
const ROUNDS_MAX = 2 * STREAMS_OF_USER_MAX;

export interface StreamHolder {
  readonly customerId: number;
  readonly userId: string;
}

export interface StreamLease {
  /** Frees the place, also while the database does not answer. */
  release(): void;
}

/**
 * Counts the open streams of each user over all processes. Each stream holds one of the user's numbered slots. One
 * statement a process and 15 s keeps all of its leases alive; those of a killed process end after 45 s, by the clock
 * of the database.
 */
export interface OpenStreams {
  /**
   * @param onLost the process was cut off until another stream took the slot
   * @returns undefined if the user has too many open streams
   */
  take(holder: StreamHolder, onLost: () => void): Promise<StreamLease | undefined>;
  /** Runs regularly while streams are open. One statement for all of them. */
  renew(): Promise<void>;
  close(): Promise<void>;
}

export const createOpenStreams = (pool: Pick<Pool, 'query'>, log: Logger): OpenStreams => {
  const node = randomUUID();
  const held = new Map<string, () => void>();
  const unfreed = new Set<string>();
  let renewedAtMs = -Infinity;
  let renewing: Promise<void> | undefined;
  let timer: NodeJS.Timeout | undefined;

  const renew = async (): Promise<void> => {
    const [before, freed, startMs] = [[...held.keys()], [...unfreed], performance.now()];
    const known = new Set(await renewLeases(pool, node, freed));
    renewedAtMs = startMs;
    for (const stream of freed) unfreed.delete(stream);
    for (const stream of before) if (!known.has(stream)) held.get(stream)?.();
  };

  const keepAlive = (): Promise<void> =>
    (renewing ??= renew().finally(() => {
      renewing = undefined;
    }));

  /** Each release that failed is repeated with the next renewal. */
  const tick = (): void => {
    if (held.size > 0 || unfreed.size > 0) {
      void keepAlive().catch((error: unknown) =>
        log.warn({ err: error }, 'leases of streams were not renewed'),
      );
      return;
    }
    clearInterval(timer);
    timer = undefined;
  };

  const free = coalesce((streams: readonly string[]) => freeLeases(pool, node, streams), {
    batchMax: 1_000,
    inFlightMax: 1,
  });

  const release = (stream: string): void => {
    held.delete(stream);
    free(stream).catch(() => unfreed.add(stream));
  };

  return {
    take: async (holder, onLost) => {
      if (performance.now() - renewedAtMs > RENEW_MS) await keepAlive();
      timer ??= setInterval(tick, RENEW_MS);
      const stream = randomUUID();
      try {
        if (!(await takeSlot(pool, holder, node, stream))) return undefined;
      } catch (error) {
        // After a timeout, the slot may be taken all the same.
        unfreed.add(stream);
        throw error;
      }
      held.set(stream, onLost);
      return { release: () => release(stream) };
    },
    renew: keepAlive,
    close: async () => {
      clearInterval(timer);
      if (renewedAtMs === -Infinity) return;
      await pool.query({
        name: 'realtime-node-ended',
        text: 'delete from realtime_nodes where node = $1',
        values: [node],
      });
    },
  };
};

const takeSlot = async (
  pool: Pick<Pool, 'query'>,
  { customerId, userId }: StreamHolder,
  node: string,
  stream: string,
): Promise<boolean> => {
  for (let round = 0; round < ROUNDS_MAX; round += 1) {
    const { rows } = await pool.query<{ readonly taken: boolean; readonly free: number }>({
      name: 'realtime-take',
      text: takeSql,
      values: [customerId, userId, STREAMS_OF_USER_MAX, node, stream],
    });
    const [row] = rows;
    if (row?.taken === true) return true;
    if (row?.free === 0) return false;
  }
  return false;
};

/**
 * The key decides between requests that take the same slot. A lease that has expired is replaced only if it is still
 * the one in this statement's snapshot: the node of a newer one is not in it.
 */
const takeSql = `
  with slots as materialized (
    select s.slot, l.stream, coalesce(n.expires_at > clock_timestamp(), false) as is_held
    from generate_series(1, $3::int) as s(slot)
    left join realtime_leases l on l.customer_id = $1 and l.user_id = $2 and l.slot = s.slot
    left join realtime_nodes n on n.node = l.node
  ), taken as (
    insert into realtime_leases as l (customer_id, user_id, slot, node, stream)
    select $1, $2, slot, $4, $5 from slots where not is_held order by random() limit 1
    on conflict (customer_id, user_id, slot) do update set node = excluded.node, stream = excluded.stream
      where exists (select from slots s where s.slot = l.slot and s.stream = l.stream and not s.is_held)
    returning l.slot
  )
  select exists (select from taken) as taken, (select count(*)::int from slots where not is_held) as free`;

/** @returns the streams that still have a lease, and perhaps some of the freed ones */
const renewLeases = async (
  pool: Pick<Pool, 'query'>,
  node: string,
  freed: readonly string[],
): Promise<readonly string[]> => {
  const { rows } = await pool.query<{ readonly stream: string }>({
    name: 'realtime-renew',
    text: `with renewed as (
             insert into realtime_nodes (node, expires_at)
             values ($1, clock_timestamp() + interval '${LEASE_SECONDS} seconds')
             on conflict (node) do update set expires_at = excluded.expires_at
           ), freed as (
             delete from realtime_leases where node = $1 and stream = any($2::uuid[])
           )
           select stream from realtime_leases where node = $1`,
    values: [node, freed],
  });
  return rows.map(({ stream }) => stream);
};

const freeLeases = async (
  pool: Pick<Pool, 'query'>,
  node: string,
  streams: readonly string[],
): Promise<readonly undefined[]> => {
  await pool.query({
    name: 'realtime-free',
    text: 'delete from realtime_leases where node = $1 and stream = any($2::uuid[])',
    values: [node, streams],
  });
  return streams.map(() => undefined);
};
