import type { AppendResult as Accepted, EventData, EventStoreDBClient } from '@eventstore/db-client';
import { backoffMs, sleep } from '../../async/backoff.ts';
import {
  AppendOutcomeUnknownError,
  AppendTooLargeError,
  EventStoreUnavailableError,
  WrongExpectedRevisionError,
} from '../event-store.ts';
import type { Connection } from './connection.ts';
import { describeFailure, failureOf, type Failure } from './failure.ts';

export interface AppendCall {
  readonly stream: string;
  readonly expected: number | 'no-stream';
  readonly events: readonly EventData[];
  readonly endMs: number;
}

const RETRY = { baseMs: 20, capMs: 400 };
const TRY_MS_MIN = 100;
/** Added to the call's deadline, for calls that never settle. */
const GRACE_MS = 50;

/**
 * At an exact revision the server recognises the ids, in any order of arrival. @throws as
 * `EventStore.append`, and AppendTooLargeError
 */
export const sendAppend = async (connection: Connection, sending: AppendCall): Promise<Accepted> => {
  let mayBeWritten = false;
  let last: unknown;
  for (let tries = 1; sending.endMs - performance.now() >= TRY_MS_MIN; tries += 1) {
    const outcome = await trySend(connection, sending);
    if ('accepted' in outcome) return outcome.accepted;
    last = outcome.error;
    if (outcome.failure.kind === 'unknown') mayBeWritten = true;
    else if (outcome.failure.kind !== 'not-taken') throw finalError(outcome, sending, mayBeWritten);
    await sleep(Math.min(backoffMs(tries, RETRY), Math.max(0, sending.endMs - performance.now())));
  }
  const text = last === undefined ? 'no time left' : describeFailure(last);
  throw mayBeWritten
    ? new AppendOutcomeUnknownError(`EventStoreDB did not answer: ${text}`, { cause: last })
    : new EventStoreUnavailableError(`EventStoreDB did not take the append: ${text}`, { cause: last });
};

type TryOutcome = { readonly accepted: Accepted } | TryFailure;
interface TryFailure {
  readonly failure: Failure;
  readonly error: unknown;
}

const trySend = async (connection: Connection, sending: AppendCall): Promise<TryOutcome> => {
  try {
    const client = await connection.leader(sending.endMs - performance.now());
    const deadlineMs = Math.max(1, sending.endMs - performance.now());
    const accepted = await connection.call(client, deadlineMs + GRACE_MS, () =>
      callAppend(client, sending, deadlineMs),
    );
    return { accepted };
  } catch (error) {
    return { failure: failureOf(error), error };
  }
};

export const callAppend = (
  client: EventStoreDBClient,
  { stream, expected, events }: Omit<AppendCall, 'endMs'>,
  deadline: number,
): Promise<Accepted> =>
  client.appendToStream(stream, [...events], {
    expectedRevision: expected === 'no-stream' ? 'no_stream' : BigInt(expected),
    deadline,
    requiresLeader: true,
  });

/** A rejection is final only if no earlier try can still succeed. */
const finalError = ({ failure, error }: TryFailure, sending: AppendCall, mayBeWritten: boolean): Error => {
  const { stream, expected } = sending;
  if (failure.kind === 'conflict') {
    const { actual } = failure;
    // The stream is past the expected revision, so earlier tries that are still in transit will fail, too.
    const isPast = actual !== 'no-stream' && (expected === 'no-stream' || actual > expected);
    if (isPast || !mayBeWritten) return new WrongExpectedRevisionError(stream, expected, actual);
  }
  const text = describeFailure(error);
  if (mayBeWritten) {
    return new AppendOutcomeUnknownError(`EventStoreDB did not answer, then refused: ${text}`, {
      cause: error,
    });
  }
  if (failure.kind === 'too-large') {
    return new AppendTooLargeError('the append is larger than EventStoreDB takes', failure.bytesMax, error);
  }
  return new EventStoreUnavailableError(`EventStoreDB refused the append: ${text}`, { cause: error });
};
