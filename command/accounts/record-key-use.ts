import type { Pool } from 'pg';
import { sleep } from '../../shared/async/backoff.ts';
import { isoTimestamp, type Clock } from '../../shared/async/clock.ts';
import type { Logger } from 'pino';

/** How often uses are written down: a key that works all the time costs one write in this time. */
const EVERY_MS = 60_000;
/** Keys remembered at once; of more than that some uses are not written down. */
const KEYS_MAX = 10_000;

export interface KeyUse {
  /** Only remembers; nothing of a request waits for it. */
  used(keyId: string): void;
  /** Writes down what is remembered. */
  flush(): Promise<void>;
}

/**
 * When keys were last used, about: a convenience for their owners, never what a decision is made on. So it is no
 * event, and what a crash loses is lost.
 */
export const createKeyUse = (pool: Pick<Pool, 'query'>, clock: Clock): KeyUse => {
  let uses = new Map<string, string>();
  return {
    used: (keyId) => {
      if (uses.size < KEYS_MAX || uses.has(keyId)) uses.set(keyId, isoTimestamp(clock.now()));
    },
    flush: async () => {
      if (uses.size === 0) return;
      // In the order of ids, so that two processes never wait for each other.
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

/**
 * Removes what let the issuer of a key repeat the request, once its Idempotency-Key is no longer honored. Of a key
 * that was not announced it stays: a repeat may still finish it, and the row is swept if none does.
 */
export const forgetSealed = (pool: Pick<Pool, 'query'>) =>
  pool.query({
    name: 'api-keys-forget-sealed',
    text: `update api_keys set sealed_secret = null
           where sealed_secret is not null and sealed_until <= now() and announced`,
  });

/** Does both about once a minute, until `signal`. */
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
          log.warn({ err: error }, 'the last use of keys could not be written down');
        });
    }
  };
  void run();
};
