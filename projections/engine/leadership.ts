import { setMaxListeners } from 'node:events';
import { createHash } from 'node:crypto';
import { Client, type ClientConfig } from 'pg';
import { backoffMs, sleep } from '../../shared/async/backoff.ts';
import { settled } from '../../shared/async/timeout.ts';
import type { Logger } from 'pino';
import { advisoryLocks } from '../../shared/postgres/advisory-locks.ts';
import { withChildSignal } from './child-signal.ts';

export interface LeadershipOptions {
  /** The one connection that holds all locks of this process, with its timeouts (`connectionConfig`). */
  readonly config: ClientConfig;
  readonly names: readonly string[];
  /** Must work until `signal` is aborted: when the lock is, or may be, lost. Must not throw. */
  readonly lead: (name: string, signal: AbortSignal) => Promise<void>;
  readonly log: Logger;
}

export interface Leadership {
  isLeading(name: string): boolean;
  close(): Promise<void>;
}

const RETRY = { baseMs: 50, capMs: 1_000 };
/** Ms between lock attempts and connection checks, times 1 to 1.5. */
const POLL_MS = 500;
/**
 * Idle ms after which the server ends a connection and releases its locks: the process hangs, or its host is
 * gone. (TCP keepalive misses a stopped process, whose kernel answers.) Another takes over within 3.8 s. A
 * process without CPU for this time loses its locks, too; `moveCheckpoint` makes that harmless.
 */
const SILENCE_MS = 3_000;
const GOODBYE_MS = 1_000;

/** The second key of a read model's lock (`advisoryLocks.projections`): 31 bits of a hash. */
export const lockKeyOf = (name: string): number =>
  createHash('sha256').update(name).digest().readUInt32BE(0) >>> 1;

/** Session advisory locks avoid duplicate work; correctness does not depend on them (`moveCheckpoint`). */
export const startLeadership = (options: LeadershipOptions): Leadership => {
  const { names, lead, log } = options;
  const config = {
    ...options.config,
    options: `${options.config.options ?? ''} -c idle_session_timeout=${SILENCE_MS}`,
  };
  const closing = new AbortController();
  // One listener for each read model; Node.js warns above ten.
  setMaxListeners(0, closing.signal);
  const leading = new Map<string, Promise<void>>();
  let termSignal: AbortSignal | undefined;

  const holdTerm = async (client: Client, term: AbortController): Promise<void> => {
    while (!term.signal.aborted) {
      const wanted = names.filter((name) => !leading.has(name));
      for (const name of await tryLocks(client, wanted)) {
        log.info({ projection: name }, 'leading');
        const work = lead(name, term.signal).catch((error: unknown) => {
          log.error({ err: error, projection: name }, 'projection leader failed');
        });
        // Work that ends by itself has failed: start a new term instead of holding an unused lock.
        leading.set(
          name,
          work.then(() => term.abort()),
        );
      }
      await sleep(POLL_MS * (1 + Math.random() / 2), term.signal);
    }
  };

  const runTerm = (client: Client): Promise<void> =>
    withChildSignal(closing.signal, async (term) => {
      termSignal = term.signal;
      client.once('end', () => term.abort());
      try {
        await holdTerm(client, term);
      } finally {
        term.abort();
        // After an error the server must release the locks at once. On close the next leader need not wait
        // for the work.
        if (!closing.signal.aborted) void hangUp(client);
        await Promise.all(leading.values());
        leading.clear();
      }
    });

  const keepTrying = async (): Promise<void> => {
    for (let failures = 1; !closing.signal.aborted; failures += 1) {
      const client = new Client(config);
      client.on('error', (error) => log.warn({ err: error }, 'leadership connection lost'));
      try {
        await client.connect();
        failures = 0;
        await runTerm(client);
      } catch (error) {
        log.warn({ err: error, failures }, 'cannot become leader now');
      }
      await hangUp(client);
      await sleep(backoffMs(failures + 1, RETRY), closing.signal);
    }
  };

  const trying = keepTrying();
  return {
    isLeading: (name) => termSignal?.aborted === false && leading.has(name),
    close: async () => {
      closing.abort();
      await trying;
    },
  };
};

/** Also sent without names, as a sign of life. */
const tryLocks = async (client: Client, wanted: readonly string[]): Promise<readonly string[]> => {
  const { rows } = await client.query<{ key: number }>({
    name: 'lead',
    text: 'select key from unnest($2::int[]) as key where pg_try_advisory_lock($1::int, key)',
    values: [advisoryLocks.projections, wanted.map(lockKeyOf)],
  });
  const keys = new Set(rows.map(({ key }) => key));
  return wanted.filter((name) => keys.has(lockKeyOf(name)));
};

const hangUp = (client: Client): Promise<void> => settled(GOODBYE_MS, client.end());
