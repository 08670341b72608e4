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

/** Records when keys were last used, for information only: a crash may lose it, so it is not an event. */
export const createKeyUse = (pool: Pick<Pool, 'query'>, clock: Clock): KeyUse => {
  let uses = new Map<string, string>();
  return {
    used: (keyId) => {
      if (uses.size < KEYS_MAX || uses.has(keyId)) uses.set(keyId, isoTimestamp(clock.now()));
    },
    flush: async () => {
      if (uses.size === 0) return;
      // Sorted by id, so that two processes cannot deadlock.
      const written = [...uses].sort(([one], [other]) => (one < other ? -1 : 1));
      uses = new Map();
      await pool.query({
        name: 'api-keys-used',
        text: `update api_keys k set last_used_at = u.used_at
               from unnest($1::text[], $2::timestamptz[]) as u(key_id, used_at)
               where k.key_id = u.key_id
                 and (k.last_used_at is null or k.last_used_at < u.used_at - interval '1 minute')`,
        values: [written.map(([keyId]) => keyId), written.map(([, usedAt]) => usedAt)],
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
  use: KeyUse,
  log: Logger,
  signal: AbortSignal,
): void => {
  const run = async (): Promise<void> => {
    while (!signal.aborted) {
      await sleep(EVERY_MS, signal);
      await use
        .flush()
        .then(() => forgetSealed(pool))
        .catch((error: unknown) => {
          log.warn({ err: error }, 'the last use of keys could not be written');
        });
    }
  };
  void run();
};
