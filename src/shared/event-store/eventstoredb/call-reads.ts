import type { EventStoreDBClient } from '@eventstore/db-client';
import { backoffMs, sleep } from '../../backoff.ts';
import { EventStoreUnavailableError } from '../event-store.ts';
import type { Connection } from './connection.ts';
import { describeFailure, failureOf, isStreamNotFound, isUnreachable } from './failure.ts';

const TRIES_MAX = 4;
const RETRY = { baseMs: 20, capMs: 400 };

/** One read on the current client. `withinMs`: what is left of the time. */
export type Read<T> = (client: EventStoreDBClient, withinMs: number) => Promise<T>;

/**
 * Reads, again when the connection was lost or the node was not the leader, for as long as there is time.
 * @throws EventStoreUnavailableError; the client's StreamNotFoundError
 */
export const callRead = async <T>(connection: Connection, read: Read<T>): Promise<T> => {
  const endMs = performance.now() + connection.limits.readMs;
  for (let tries = 1; ; tries += 1) {
    const client = connection.client();
    try {
      const result = await read(client, endMs - performance.now());
      if (connection.isGivenUp(client)) throw new CutShortError('the read was cancelled with its client');
      connection.report(client);
      return result;
    } catch (error) {
      connection.report(client, error);
      if (isStreamNotFound(error)) throw error;
      const pauseMs = backoffMs(tries, RETRY);
      const hasTime = performance.now() + pauseMs < endMs - RETRY.capMs;
      if (!isPassing(error) || tries === TRIES_MAX || !hasTime) throw unreadable(error);
      await sleep(pauseMs);
    }
  }
};

/** What came may be a part only. */
class CutShortError extends Error {
  override readonly name = 'CutShortError';
}

const isPassing = (error: unknown): boolean =>
  error instanceof CutShortError || isUnreachable(error) || failureOf(error).kind === 'not-taken';

const unreadable = (error: unknown): EventStoreUnavailableError =>
  new EventStoreUnavailableError(`EventStoreDB cannot be read: ${describeFailure(error)}`, { cause: error });
