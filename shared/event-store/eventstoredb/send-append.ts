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

/** One append as it goes over the wire, the same at every try: same ids, same expected revision. */
export interface Sending {
  readonly stream: string;
  readonly expected: number | 'no-stream';
  readonly events: readonly EventData[];
  /** `performance.now()` by which there must be an answer. */
  readonly endMs: number;
}

const RETRY = { baseMs: 20, capMs: 400 };
/** Less than this is not worth a try. */
const TRY_MS_MIN = 100;
/** The call's own deadline comes first; this one is for calls that never settle. */
const GRACE_MS = 50;

/**
 * Sends an append until there is an answer. Sending it again is safe: at an exact revision the server knows the
 * ids again, and if the first try arrives last, it finds them there.
 * @throws WrongExpectedRevisionError, AppendTooLargeError, EventStoreUnavailableError, AppendOutcomeUnknownError
 */
export const sendAppend = async (connection: Connection, sending: Sending): Promise<Accepted> => {
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

type Tried = { readonly accepted: Accepted } | Failed;
interface Failed {
  readonly failure: Failure;
  readonly error: unknown;
}

const trySend = async (connection: Connection, sending: Sending): Promise<Tried> => {
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
  { stream, expected, events }: Omit<Sending, 'endMs'>,
  deadline: number,
): Promise<Accepted> =>
  client.appendToStream(stream, [...events], {
    expectedRevision: expected === 'no-stream' ? 'no_stream' : BigInt(expected),
    deadline,
    requiresLeader: true,
  });

/** A refusal of this try. It is the answer for the whole append only if no earlier try may still be accepted. */
const finalError = ({ failure, error }: Failed, sending: Sending, mayBeWritten: boolean): Error => {
  const { stream, expected } = sending;
  if (failure.kind === 'conflict') {
    const { actual } = failure;
    // The stream is past that revision, for ever: an earlier try that is still on its way will fail, too.
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
