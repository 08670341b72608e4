import { BACKWARDS, END, EventStoreDBClient } from '@eventstore/db-client';
import type { Logger } from 'pino';
import { backoffMs, sleep } from '../../backoff.ts';
import { callLimits, type CallLimits } from './call-limits.ts';
import { optionOf, withOption } from './connection-string.ts';
import { describeFailure, isSilence, isUnreachable, SilentServerError } from './failure.ts';
import { collect } from './read-events.ts';

/** The one client of this process, and when to replace it by a new one. */
export interface Connection {
  /** Of calls on its clients. */
  readonly limits: CallLimits;
  /** The client for the next call. Never kept: the one after may need another. */
  client(): EventStoreDBClient;
  /** Resolves when `client` has answered a read: until then no append goes out on it. @throws what the read throws */
  warm(client: EventStoreDBClient, withinMs: number): Promise<void>;
  /** What a call came to; `error` undefined when it got an answer of any kind. */
  report(client: EventStoreDBClient, error?: unknown): void;
  /**
   * The client was given up. A read that was under way on it has been cancelled, which the client tells as a
   * normal end: whatever such a read gave may be a part only.
   */
  isGivenUp(client: EventStoreDBClient): boolean;
  /** Clients that were given up so far. */
  readonly rebuilds: number;
  close(): Promise<void>;
}

/** A new client at most this often. Far less than the back-off of gRPC, which grows to two minutes. */
const REBUILD = { baseMs: 100, capMs: 1_000 };
/** Calls without a word from the server until its connection is held for dead. Keepalive alone takes 20 s. */
const SILENCES_MAX = 2;
const KEEP_ALIVE_MS = 10_000;
const GOODBYE_MS = 1_000;
/**
 * From giving a client up to hanging up: a call that was handed to it in the same moment has a few steps to go
 * before it is on its channel, and an append that finds the channel closed is an unhandled rejection.
 */
const LAST_CALLS_MS = 50;

/**
 * Why a new client, when the client renews its channel by itself: gRPC keeps one connection for all channels
 * that are alike, and with it the back-off of its failures, so that a server that was away for a minute would
 * be tried again half a minute after its return. A channel with another keepalive time is not alike.
 * @param connectionString as `connectionStringProblem` accepts it
 */
export const createConnection = (
  connectionString: string,
  log: Logger,
  limits: CallLimits = callLimits,
): Connection => {
  let current = createClient(connectionString, 0);
  const warming = new WeakMap<EventStoreDBClient, Promise<void>>();
  const givenUp = new WeakSet<EventStoreDBClient>();
  const leaving = new Set<Promise<void>>();
  let rebuilds = 0;
  let failures = 0;
  let silences = 0;
  let inDoubt = false;
  let rebuildAtMs = 0;
  let closed = false;

  const rebuild = (): void => {
    const old = current;
    rebuilds += 1;
    inDoubt = false;
    silences = 0;
    rebuildAtMs = performance.now() + backoffMs(failures, REBUILD);
    current = createClient(connectionString, rebuilds);
    givenUp.add(old);
    const gone = sleep(LAST_CALLS_MS)
      .then(() => letGo(old))
      .finally(() => leaving.delete(gone));
    leaving.add(gone);
  };

  return {
    limits,
    client: () => {
      if (inDoubt && !closed && performance.now() >= rebuildAtMs) rebuild();
      return current;
    },
    warm: (client, withinMs) => {
      const known = warming.get(client) ?? readOnce(client, withinMs);
      warming.set(client, known);
      known.catch(() => warming.delete(client));
      return known;
    },
    report: (client, error) => {
      if (client !== current) return;
      if (isUnreachable(error)) inDoubt = true;
      else if (!isSilence(error)) failures = silences = 0;
      else if ((silences += 1) >= SILENCES_MAX) inDoubt = true;
      if (!inDoubt || error === undefined) return;
      failures += 1;
      log.warn({ failure: describeFailure(error), failures }, 'connection to EventStoreDB in doubt');
    },
    isGivenUp: (client) => givenUp.has(client),
    get rebuilds() {
      return rebuilds;
    },
    close: async () => {
      closed = true;
      givenUp.add(current);
      await Promise.all([letGo(current), ...leaving]);
    },
  };
};

/**
 * A client that appends by unary calls only. The other way, one shared stream for all appends, has no deadline,
 * needs the clocks of both sides to agree, loses every append when one is malformed, and answers late replies
 * with an uncaught exception; and the question whether the server supports it is remembered as failed for ever.
 */
const createClient = (connectionString: string, generation: number): EventStoreDBClient => {
  const keepAliveMs = optionOf(connectionString, 'keepAliveInterval', KEEP_ALIVE_MS);
  const varied = keepAliveMs < 0 ? keepAliveMs : keepAliveMs + (generation % 1_000);
  const client = EventStoreDBClient.connectionString(
    withOption(connectionString, 'keepAliveInterval', varied),
  );
  Object.assign(client, { supports: async () => false });
  return client;
};

const readOnce = async (client: EventStoreDBClient, withinMs: number): Promise<void> => {
  await collect(
    client.readAll({ direction: BACKWARDS, fromPosition: END, maxCount: 1, requiresLeader: true }),
    withinMs,
  );
};

/** Ends what is under way on a client, and its connection; bounded, as either may wait for ever. */
const letGo = async (client: EventStoreDBClient): Promise<void> => {
  const heard = new AbortController();
  const goodbye = hangUp(client)
    .catch(() => undefined)
    .finally(() => heard.abort());
  await Promise.race([goodbye, sleep(GOODBYE_MS, heard.signal)]);
};

const hangUp = async (client: EventStoreDBClient): Promise<void> => {
  await client.dispose();
  // Not part of the client's public face, but without it a client that is given up keeps trying to connect.
  const inner = client as unknown as { getChannel(): Promise<{ close(): void }> };
  (await inner.getChannel()).close();
};

/** What `promise` gives, if it does so in time. @throws SilentServerError */
export const within = async <T>(promise: Promise<T>, ms: number): Promise<T> => {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<never>((_, reject) => {
    timer = setTimeout(() => reject(new SilentServerError(`no answer within ${Math.round(ms)} ms`)), ms);
  });
  try {
    return await Promise.race([promise, late]);
  } finally {
    clearTimeout(timer);
  }
};
