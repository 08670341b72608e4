import type { EventStoreDBClient } from '@eventstore/db-client';
import { backoffMs, sleep } from '../../async/backoff.ts';
import { EventStoreUnavailableError } from '../event-store.ts';
import type { Connection } from './connection.ts';
import {
  describeFailure,
  doubtOf,
  failureOf,
  GivenUpError,
  isStreamNotFound,
  NoLeaderError,
  SilentServerError,
} from './failure.ts';

const RETRY = { baseMs: 20, capMs: 400 };

export type Read<T> = (client: EventStoreDBClient, withinMs: number) => Promise<T>;

/** Retries while time is left. @throws EventStoreUnavailableError; the client's StreamNotFoundError */
export const callRead = async <T>(connection: Connection, read: Read<T>): Promise<T> => {
  const endMs = performance.now() + connection.limits.readMs;
  for (let tries = 1; ; tries += 1) {
    try {
      const client = await connection.leader(endMs - performance.now());
      const leftMs = endMs - performance.now();
      return await connection
        .call(client, leftMs, () => read(client, leftMs))
        .catch((error: unknown) => {
          // The search for the leader took most of the time: the current leader is not at fault.
          const isLate = leftMs < connection.limits.readMs / 2 && error instanceof SilentServerError;
          throw isLate
            ? new NoLeaderError(`a leader was found ${Math.round(leftMs)} ms before the end`)
            : error;
        });
    } catch (error) {
      if (isStreamNotFound(error)) throw error;
      const pauseMs = backoffMs(tries, RETRY);
      const hasTime = performance.now() + pauseMs < endMs - RETRY.capMs;
      if (!isPassing(error) || !hasTime) throw unreadable(error);
      await sleep(pauseMs);
    }
  }
};

const isPassing = (error: unknown): boolean => {
  if (error instanceof GivenUpError || failureOf(error).kind === 'not-taken') return true;
  const doubt = doubtOf(error);
  return doubt === 'broken' || doubt === 'not-leading';
};

const unreadable = (error: unknown): EventStoreUnavailableError =>
  new EventStoreUnavailableError(`EventStoreDB cannot be read: ${describeFailure(error)}`, { cause: error });
