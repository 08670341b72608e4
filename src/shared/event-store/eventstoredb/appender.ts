import type { ResolvedEvent } from '@eventstore/db-client';
import { randomId } from '../../ids.ts';
import { createTurns } from '../../command/turns.ts';
import type { AppendRequest } from '../append-request.ts';
import {
  AppendOutcomeUnknownError,
  AppendTooLargeError,
  WrongExpectedRevisionError,
  type AppendResult,
  type Position,
} from '../event-store.ts';
import { within, type Connection } from './connection.ts';
import { describeFailure } from './failure.ts';
import { printPosition } from './log-position.ts';
import type { LogReader } from './log-reader.ts';
import { repeatIn } from './repeat.ts';
import { sendAppend } from './send-append.ts';
import { createSlots } from './slots.ts';
import { createStreamTails } from './stream-tails.ts';
import { attemptOf, storedBytes, toEventData } from './stored-event.ts';

export interface Appender {
  /** Callers without an answer. */
  readonly pending: number;
  /** @throws WrongExpectedRevisionError, AppendOutcomeUnknownError, EventStoreUnavailableError */
  append(request: AppendRequest): Promise<AppendResult>;
}

/** Called after every append that is in the log, repeated ones included, and before its caller gets the answer. */
export type OnAppended = (customerId: number, position: Position) => Promise<void>;

/** An answer within 3 s, whatever stalls: this is for the append itself, the rest for what follows it. */
const SEND_MS_MAX = 2_400;
const ANSWER_MS_MAX = 2_700;
/** The server's streams for one connection are 100 at most; reads and subscriptions need some, too. */
const LIMITS = { atOnceMax: 48, waitingMax: 10_000, waitMsMax: 2_000 };
const TURNS = { waitMsMax: 2_000, waitingMax: 1_000 };
/** The server's limit of one record. */
const RECORD_BYTES_MAX = 16 * 1024 * 1024 - 10_000;
/** How far back a repeat of an append to `any` is recognised (port). */
const REPEAT_REACH = 1_000;
/** Lost races of an append to `any` against other processes. */
const RACES_MAX = 16;

/**
 * Appends, one of each stream at a time: calls that are under way together reach the server in any order. Every
 * append goes out at an exact revision, where the server recognises a repeat whatever happened in between.
 *
 * Whether it was a repeat, the server does not say: it answers both alike. Two processes may run the same
 * command at the same time, so nothing known before the append can tell either. So each call of `append` puts a
 * name of its own into what it stores, and reads the last event back: it is ours or it is not. That read runs
 * beside `onAppended`.
 */
export const createAppender = (
  connection: Connection,
  reader: LogReader,
  onAppended: OnAppended,
): Appender => {
  const inTurn = createTurns(TURNS);
  const inSlot = createSlots(LIMITS);
  const tails = createStreamTails(reader, REPEAT_REACH);
  let pending = 0;

  const readLast = async (stream: string, revision: number): Promise<ResolvedEvent> => {
    const [stored] = await reader.readStored(stream, { from: revision, count: 1 });
    if (stored === undefined) throw new Error(`${stream}@${revision} was appended and is not there`);
    return stored;
  };

  /** Of an append that is in the log. */
  const conclude = async (
    request: AppendRequest,
    attempt: string,
    endMs: number,
    { revision, position }: { readonly revision: number; readonly position: Position | undefined },
  ): Promise<AppendResult> => {
    const { stream, customerId, events } = request;
    const reading = readLast(stream, revision);
    const marking = async (): Promise<void> =>
      onAppended(customerId, position ?? printPosition((await reading).event?.position));
    const [stored] = await within(Promise.all([reading, marking()]), endMs - performance.now());
    if (stored.event?.id !== events.at(-1)?.id) {
      throw new Error(`${stream}@${revision} is not what was appended`);
    }
    return {
      revision,
      position: printPosition(stored.event?.position),
      repeated: attemptOf(stored) !== attempt,
    };
  };

  const appendAt = async (
    request: AppendRequest,
    expected: number | 'no-stream',
    attempt: string,
    startMs: number,
  ): Promise<AppendResult> => {
    const accepted = await sendAppend(connection, {
      stream: request.stream,
      expected,
      events: toEventData(request.events, attempt),
      endMs: startMs + SEND_MS_MAX,
    });
    const revision = Number(accepted.nextExpectedRevision);
    const position = accepted.position && printPosition(accepted.position);
    return concluded(() => conclude(request, attempt, startMs + ANSWER_MS_MAX, { revision, position }));
  };

  /** Finds the place by itself, and whether it is a repeat; then as at an exact revision. */
  const appendAny = async (
    request: AppendRequest,
    attempt: string,
    startMs: number,
  ): Promise<AppendResult> => {
    const { stream, events } = request;
    let tail = tails.known(stream);
    for (let races = 1; ; races += 1) {
      if (tail === undefined || repeatIn(tail, request).outcome !== 'new') tail = await tails.read(stream);
      const found = repeatIn(tail, request);
      if (found.outcome === 'conflict') throw new WrongExpectedRevisionError(stream, 'any', found.current);
      if (found.outcome === 'repeat') {
        const place = { revision: found.revision, position: undefined };
        return concluded(() => conclude(request, attempt, startMs + ANSWER_MS_MAX, place));
      }
      try {
        const result = await appendAt(request, found.current, attempt, startMs);
        tails.appended(
          stream,
          tail.revision,
          events.map(({ id }) => id),
        );
        return result;
      } catch (error) {
        if (!(error instanceof WrongExpectedRevisionError)) throw error;
        if (races === RACES_MAX) throw new WrongExpectedRevisionError(stream, 'any', error.actual);
        tail = await tails.read(stream);
      }
    }
  };

  return {
    get pending() {
      return pending;
    },
    append: async (request) => {
      const attempt = randomId();
      refuseTooLarge(request, attempt);
      const startMs = performance.now();
      const { expected } = request;
      pending += 1;
      try {
        return await inTurn(request.stream, () =>
          inSlot(() =>
            expected === 'any'
              ? appendAny(request, attempt, startMs)
              : appendAt(request, expected, attempt, startMs),
          ),
        );
      } finally {
        pending -= 1;
      }
    },
  };
};

/** Once it is in the log, every failure leaves the caller without a complete answer: it is to repeat. */
const concluded = async <T>(work: () => Promise<T>): Promise<T> => {
  try {
    return await work();
  } catch (cause) {
    throw new AppendOutcomeUnknownError(`appended, but not confirmed: ${describeFailure(cause)}`, { cause });
  }
};

const refuseTooLarge = ({ events }: AppendRequest, attempt: string): void => {
  const bytes = Math.max(...events.map((event) => storedBytes(event, attempt)));
  if (bytes > RECORD_BYTES_MAX) {
    throw new AppendTooLargeError(
      `an event of ${bytes} bytes is larger than EventStoreDB takes`,
      RECORD_BYTES_MAX,
    );
  }
};
