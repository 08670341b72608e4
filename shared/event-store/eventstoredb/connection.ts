import { setMaxListeners } from 'node:events';
import type { EventStoreDBClient } from '@eventstore/db-client';
import type { Logger } from 'pino';
import { abortable } from '../../async/abortable.ts';
import { settled, timeout } from '../../async/timeout.ts';
import { EventStoreUnavailableError } from '../event-store.ts';
import { callLimits, type CallLimits } from './call-limits.ts';
import { doubtOf, GivenUpError, NoLeaderError, SilentServerError } from './failure.ts';
import { createLeaderSearch } from './leader-search.ts';

export interface Connection {
  readonly limits: CallLimits;
  /** Call it for each request; do not store the client. @throws NoLeaderError with the cause */
  leader(withinMs: number, signal?: AbortSignal): Promise<EventStoreDBClient>;
  /** @throws GivenUpError, SilentServerError after `withinMs`; any error of `work` */
  call<T>(client: EventStoreDBClient, withinMs: number, work: () => Promise<T>): Promise<T>;
  report(client: EventStoreDBClient, error: unknown): void;
  /** When it aborts, the client reports its cancelled calls as a normal end: a read may be incomplete. */
  givenUp(client: EventStoreDBClient): AbortSignal;
  /** True if the connection itself logs this failure, once for all calls. */
  logsFailure(error: unknown): boolean;
  readonly trouble: string | undefined;
  readonly rebuilds: number;
  close(): Promise<void>;
}

/** After this time a call starts a check that its node still leads, and continues to wait. */
const SLOW_MS = 1_000;
/** Timers accept at most 2^31 ms. */
const WAIT_MS_MAX = 60_000;

/** @param connectionString may contain a password, so never log it */
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
    logsFailure: (error) => {
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
  new NoLeaderError(cause ?? 'no node claimed in time to be the leader');

export const within = <T>(promise: Promise<T>, ms: number): Promise<T> =>
  timeout(ms, promise, () => new SilentServerError(`no answer within ${Math.round(ms)} ms`));
