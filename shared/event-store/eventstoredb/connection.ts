import { setMaxListeners } from 'node:events';
import type { EventStoreDBClient } from '@eventstore/db-client';
import type { Logger } from 'pino';
import { abortable } from '../../async/abortable.ts';
import { settled, timeout } from '../../async/timeout.ts';
import { EventStoreUnavailableError } from '../event-store.ts';
import { callLimits, type CallLimits } from './call-limits.ts';
import { doubtOf, GivenUpError, NoLeaderError, SilentServerError } from './failure.ts';
import { createLeaderSearch } from './leader-search.ts';

/** The one client of this process, which is a client of the node that leads; reads, appends and subscriptions share it. */
export interface Connection {
  /** Of calls on its clients. */
  readonly limits: CallLimits;
  /**
   * The client for the next call: its node has answered a read, so its connection is open. Never kept: the call after
   * may need another one.
   * @throws NoLeaderError when no node leads within the time; its message names the cause
   */
  leader(withinMs: number, signal?: AbortSignal): Promise<EventStoreDBClient>;
  /**
   * What `work` comes to on this client. Its failures are reported.
   * @throws GivenUpError when the client is given up meanwhile, SilentServerError after `withinMs`
   */
  call<T>(client: EventStoreDBClient, withinMs: number, work: () => Promise<T>): Promise<T>;
  /** What a call failed with that was not made by `call`. */
  report(client: EventStoreDBClient, error: unknown): void;
  /**
   * Fires when the client is given up. Its calls are cancelled, which the client tells as a normal end: whatever a read
   * gave may be a part only.
   */
  givenUp(client: EventStoreDBClient): AbortSignal;
  /**
   * Whether the connection itself logs why a call failed, once for all calls: no node leads, or the client was given up
   * meanwhile. Then the caller logs nothing.
   */
  tells(error: unknown): boolean;
  /** Why there is no leader now, for people; undefined while there is one. */
  readonly trouble: string | undefined;
  /** Clients that were given up so far. */
  readonly rebuilds: number;
  close(): Promise<void>;
}

/** Without an answer for this long, a call makes sure that its node still leads, and goes on waiting. */
const SLOW_MS = 1_000;
/** Timers take no more than 2^31 ms. */
const WAIT_MS_MAX = 60_000;

/** @param connectionString as `connectionStringProblem` accepts it; may hold a password: never logged */
export const createConnection = (
  connectionString: string,
  log: Pick<Logger, 'info' | 'warn'>,
  limits: CallLimits = callLimits,
): Connection => {
  const search = createLeaderSearch(connectionString, log);
  const closing = new AbortController();
  setMaxListeners(0, closing.signal);
  const report = (client: EventStoreDBClient, error: unknown): void => {
    const doubt = client === search.current ? doubtOf(error) : undefined;
    if (doubt === undefined) return;
    if (doubt === 'broken') search.drop(client);
    search.start();
  };

  return {
    limits,
    report,
    leader: async (withinMs, signal) => {
      const endMs = performance.now() + withinMs;
      while (true) {
        if (closing.signal.aborted) throw new NoLeaderError('the connection is closed');
        if (search.current === undefined) search.start();
        if (search.running === undefined && search.current !== undefined) return search.current;
        const leftMs = endMs - performance.now();
        if (leftMs <= 0 || signal?.aborted === true) throw noLeader(search.trouble);
        const ending = signal === undefined ? closing.signal : AbortSignal.any([closing.signal, signal]);
        const running = search.running ?? Promise.resolve();
        await settled(Math.min(leftMs, WAIT_MS_MAX), abortable(running, ending));
      }
    },
    call: async (client, withinMs, work) => {
      const slow = setTimeout(() => {
        if (client === search.current) search.start();
      }, SLOW_MS);
      try {
        return await within(
          abortable(work(), search.givenUp(client), () => new GivenUpError()),
          withinMs,
        );
      } catch (error) {
        report(client, error);
        throw error;
      } finally {
        clearTimeout(slow);
      }
    },
    givenUp: (client) => search.givenUp(client),
    tells: (error) => {
      const cause = error instanceof EventStoreUnavailableError ? error.cause : error;
      return search.trouble !== undefined || cause instanceof NoLeaderError || cause instanceof GivenUpError;
    },
    get trouble() {
      return search.trouble;
    },
    get rebuilds() {
      return search.rebuilds;
    },
    close: async () => {
      closing.abort();
      await search.close();
    },
  };
};

const noLeader = (cause: string | undefined): NoLeaderError =>
  new NoLeaderError(cause ?? 'no node has said in time that it leads');

/** What `promise` gives, if it does so in time. @throws SilentServerError */
export const within = <T>(promise: Promise<T>, ms: number): Promise<T> =>
  timeout(ms, promise, () => new SilentServerError(`no answer within ${Math.round(ms)} ms`));
