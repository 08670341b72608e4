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
  readonly at: string;
}

export const keyUses: Uses = { table: 'api_keys', id: 'key_id', at: 'last_used_at' };
export const grantUses: Uses = { table: 'oauth_grants', id: 'grant_id', at: 'last_used_at' };
/** Also keeps a session from being idle. */
const sessionUses: Uses = { table: 'sessions', id: 'session_id', at: 'last_seen_at' };

/** A crash may lose the last minute, so it is not an event. */
export const createKeyUse = (pool: Pick<Pool, 'query'>, clock: Clock, { table, id, at }: Uses): KeyUse => {
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
        text: `update ${table} k set ${at} = u.used_at
               from unnest($1::text[], $2::timestamptz[]) as u(id, used_at)
               where k.${id} = u.id
                 and (k.${at} is null or k.${at} < u.used_at - interval '1 minute')`,
        values: [written.map(([usedId]) => usedId), written.map(([, usedAt]) => usedAt)],
      });
    },
  };
};

export interface CredentialUses {
  readonly keyUse: KeyUse;
  readonly grantUse: KeyUse;
  readonly sessionUse: KeyUse;
}

export const createCredentialUses = (pool: Pick<Pool, 'query'>, clock: Clock): CredentialUses => ({
  keyUse: createKeyUse(pool, clock, keyUses),
  grantUse: createKeyUse(pool, clock, grantUses),
  sessionUse: createKeyUse(pool, clock, sessionUses),
});

/** An unannounced key keeps its secret: a repeat may complete it. */
export const forgetSealed = (pool: Pick<Pool, 'query'>) =>
  pool.query({
    name: 'api-keys-forget-sealed',
    text: `update api_keys set sealed_secret = null
           where sealed_secret is not null and sealed_until <= now() and announced`,
  });

export const maintainKeys = (
  pool: Pick<Pool, 'query'>,
  uses: CredentialUses,
  log: Logger,
  signal: AbortSignal,
): void => {
  const run = async (): Promise<void> => {
    while (!signal.aborted) {
      await sleep(EVERY_MS, signal);
      await Promise.all(Object.values(uses).map((use: KeyUse) => use.flush()))
        .then(() => forgetSealed(pool))
        .catch((error: unknown) => {
          log.warn({ err: error }, 'the last use of credentials could not be written');
        });
    }
  };
  void run();
};
