import type { Pool } from 'pg';
import { sleep } from '../../shared/async/backoff.ts';
import { isoTimestamp, type Clock } from '../../shared/async/clock.ts';
import type { Logger } from 'pino';

const EVERY_MS = 60_000;
/** Beyond this number some uses are not recorded. */
const KEYS_MAX = 10_000;

export interface KeyUse {
  used(keyId: string): void;
  flush(): Promise<void>;
}

/** The rows whose last use is recorded. */
export interface Uses {
  readonly table: string;
  readonly id: string;
}

export const keyUses: Uses = { table: 'api_keys', id: 'key_id' };
export const grantUses: Uses = { table: 'oauth_grants', id: 'grant_id' };

/** For information only: a crash may lose it, so it is not an event. */
export const createKeyUse = (pool: Pick<Pool, 'query'>, clock: Clock, { table, id }: Uses): KeyUse => {
  let uses = new Map<string, string>();
  return {
    used: (usedId) => {
      if (uses.size < KEYS_MAX || uses.has(usedId)) uses.set(usedId, isoTimestamp(clock.now()));
    },
    flush: async () => {
      if (uses.size === 0) return;
      // Sorted by id, so that two processes cannot deadlock.
      const written = [...uses].sort(([one], [other]) => (one < other ? -1 : 1));
      uses = new Map();
      await pool.query({
        name: `${table}-used`,
        text: `update ${table} k set last_used_at = u.used_at
               from unnest($1::text[], $2::timestamptz[]) as u(id, used_at)
               where k.${id} = u.id
                 and (k.last_used_at is null or k.last_used_at < u.used_at - interval '1 minute')`,
        values: [written.map(([usedId]) => usedId), written.map(([, usedAt]) => usedAt)],
      });
    },
  };
};

/** An unannounced key keeps its secret: a repeat may complete it. */
export const forgetSealed = (pool: Pick<Pool, 'query'>) =>
  pool.query({
    name: 'api-keys-forget-sealed',
    text: `update api_keys set sealed_secret = null
           where sealed_secret is not null and sealed_until <= now() and announced`,
  });

export const maintainKeys = (
  pool: Pick<Pool, 'query'>,
  uses: readonly KeyUse[],
  log: Logger,
  signal: AbortSignal,
): void => {
  const run = async (): Promise<void> => {
    while (!signal.aborted) {
      await sleep(EVERY_MS, signal);
      await Promise.all(uses.map((use) => use.flush()))
        .then(() => forgetSealed(pool))
        .catch((error: unknown) => {
          log.warn({ err: error }, 'the last use of keys could not be written');
        });
    }
  };
  void run();
};
