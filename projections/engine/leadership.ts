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
  /**
   * Called for each name when this process has become its leader. Works until `signal` is aborted, which
   * happens as soon as the lock is lost or may have been. Must not throw.
   */
  readonly lead: (name: string, signal: AbortSignal) => Promise<void>;
  readonly log: Logger;
}

export interface Leadership {
  isLeading(name: string): boolean;
  /** Ends the work of every name, then gives up the locks. */
  close(): Promise<void>;
}

const RETRY = { baseMs: 50, capMs: 1_000 };
/** Locks are asked for, and the connection is tried, after 1 to 1.5 times this. */
const POLL_MS = 500;
/**
 * The server ends a connection that has been silent for this long, and with it the locks: its process is
 * stopped, hangs, or its host is gone. (TCP keepalive would see only the last: the kernel of a stopped process
 * goes on answering.) With the poll above another process has taken over within 3.8 s. A healthy process that was kept
 * from the CPU for so long loses its locks too, and takes them again; the fence makes that harmless.
 */
const SILENCE_MS = 3_000;
const GOODBYE_MS = 1_000;

/** The second key of a read model's lock (`advisoryLocks.projections`): 31 bits of a hash. */
export const lockKeyOf = (name: string): number =>
  createHash('sha256').update(name).digest().readUInt32BE(0) >>> 1;

/**
 * One active runner per name among all processes on the database: whoever holds the session's advisory lock.
 * This is about not doing work twice and about take-over; correctness does not hang on it (`moveCheckpoint`).
 */
export const startLeadership = (options: LeadershipOptions): Leadership => {
  const { names, lead, log } = options;
  const config = {
    ...options.config,
    options: `${options.config.options ?? ''} -c idle_session_timeout=${SILENCE_MS}`,
  };
  const closing = new AbortController();
  // One for each read model; the usual warning is for more than ten.
  setMaxListeners(0, closing.signal);
  const leading = new Map<string, Promise<void>>();
  let termSignal: AbortSignal | undefined;

  /** Holds locks on one connection until it breaks or `close` is called. */
  const holdTerm = async (client: Client, term: AbortController): Promise<void> => {
    while (!term.signal.aborted) {
      const wanted = names.filter((name) => !leading.has(name));
      for (const name of await tryLocks(client, wanted)) {
        log.info({ projection: name }, 'leading');
        const work = lead(name, term.signal).catch((error: unknown) => {
          log.error({ err: error, projection: name }, 'the leader failed');
        });
        // Work that ends by itself has failed: begin a new term rather than hold a lock for nothing.
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
        // Broken: the server shall know at once. Closing: work ends first, so that the successor need not wait.
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
        log.warn({ err: error, failures }, 'leadership is not possible now');
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

/** Also the sign of life: it is sent with nothing wanted, too. */
const tryLocks = async (client: Client, wanted: readonly string[]): Promise<readonly string[]> => {
  const { rows } = await client.query<{ key: number }>({
    name: 'lead',
    text: 'select key from unnest($2::int[]) as key where pg_try_advisory_lock($1::int, key)',
    values: [advisoryLocks.projections, wanted.map(lockKeyOf)],
  });
  const keys = new Set(rows.map(({ key }) => key));
  return wanted.filter((name) => keys.has(lockKeyOf(name)));
};

/** Waits for the goodbye, but not for a server that does not say it. */
const hangUp = (client: Client): Promise<void> => settled(GOODBYE_MS, client.end());
