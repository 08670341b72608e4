import type { EventStoreDBClient } from '@eventstore/db-client';
import { backoffMs, sleep } from '../../backoff.ts';
import { EventStoreUnavailableError } from '../event-store.ts';
import type { Connection } from './connection.ts';
import { describeFailure, failureOf, isStreamNotFound, isUnreachable } from './failure.ts';

/** Longest time for one read, all tries together (a request must be answered within 3 s). */
export const READ_MS_MAX = 2_500;
const TRIES_MAX = 4;
const RETRY = { baseMs: 20, capMs: 400 };

/** One read on the current client. `withinMs`: what is left of the time. */
export type Read<T> = (client: EventStoreDBClient, withinMs: number) => Promise<T>;

/**
 * Reads, again when the connection was lost or the node was not the leader, for as long as there is time.
 * @throws EventStoreUnavailableError; the client's StreamNotFoundError
 */
export const callRead = async <T>(connection: Connection, read: Read<T>): Promise<T> => {
  const endMs = performance.now() + READ_MS_MAX;
  for (let tries = 1; ; tries += 1) {
    const client = connection.client();
    try {
      const result = await read(client, endMs - performance.now());
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

const isPassing = (error: unknown): boolean => isUnreachable(error) || failureOf(error).kind === 'not-taken';

export const unreadable = (error: unknown): EventStoreUnavailableError =>
  new EventStoreUnavailableError(`EventStoreDB cannot be read: ${describeFailure(error)}`, { cause: error });
