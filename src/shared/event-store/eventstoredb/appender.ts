import { randomId } from '../../ids.ts';
import { createTurns } from '../../command/turns.ts';
import type { AppendRequest } from '../append-request.ts';
import { AppendTooLargeError, WrongExpectedRevisionError, type AppendResult } from '../event-store.ts';
import { confirmAppend, type OnAppended } from './confirm-append.ts';
import type { Connection } from './connection.ts';
import { printPosition } from './log-position.ts';
import type { LogReader } from './log-reader.ts';
import { repeatIn } from './repeat.ts';
import { sendAppend } from './send-append.ts';
import { createSlots } from './slots.ts';
import { createStreamTails } from './stream-tails.ts';
import { storedBytes, toEventData } from './stored-event.ts';

export interface Appender {
  /** Callers without an answer. */
  readonly pending: number;
  /** @throws WrongExpectedRevisionError, AppendOutcomeUnknownError, EventStoreUnavailableError */
  append(request: AppendRequest): Promise<AppendResult>;
}

/** The server's streams for one connection are 100 at most; reads and subscriptions need some, too. */
const SLOTS = { atOnceMax: 48, waitingMax: 10_000 };
const TURNS_WAITING_MAX = 1_000;
/** The server's limit of one record. */
const RECORD_BYTES_MAX = 16 * 1024 * 1024 - 10_000;
/** How far back a repeat of an append to `any` is recognised (port). */
const REPEAT_REACH = 1_000;
/** Lost races of an append to `any` against other processes. */
const RACES_MAX = 16;

/**
 * Every append goes out at an exact revision, where the server recognises a repeat whatever happened in between.
 *
 * Whether it was a repeat, the server does not say: it answers both alike. Two processes may run the same
 * command at the same time, so nothing known before the append can tell either. So each call of `append` puts a
 * name of its own into what it stores, and reads the last event back: it is ours or it is not. That read runs
 * beside `onAppended`.
 */
const createAppend = (
  connection: Connection,
  reader: LogReader,
  onAppended: OnAppended,
): ((request: AppendRequest, startMs: number) => Promise<AppendResult>) => {
  const tails = createStreamTails(reader, REPEAT_REACH);

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
      endMs: startMs + connection.limits.sendMs,
    });
    const revision = Number(accepted.nextExpectedRevision);
    const position = accepted.position && printPosition(accepted.position);
    const endMs = startMs + connection.limits.answerMs;
    return confirmAppend(reader, onAppended, { request, attempt, revision, position, endMs });
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
        const place = {
          revision: found.revision,
          position: undefined,
          endMs: startMs + connection.limits.answerMs,
        };
        return confirmAppend(reader, onAppended, { request, attempt, ...place });
      }
      try {
        const result = await appendAt(request, found.current, attempt, startMs);
        if (!result.repeated || races === RACES_MAX) {
          tails.appended(
            stream,
            tail.revision,
            events.map(({ id }) => id),
          );
          return result;
        }
        // The stream had gone on: whether this is the repeat that counts (port), only its last events say.
        tail = await tails.read(stream);
      } catch (error) {
        if (!(error instanceof WrongExpectedRevisionError)) throw error;
        if (races === RACES_MAX) throw new WrongExpectedRevisionError(stream, 'any', error.actual);
        tail = await tails.read(stream);
      }
    }
  };

  return (request, startMs) => {
    const attempt = randomId();
    refuseTooLarge(request, attempt);
    const { expected } = request;
    return expected === 'any'
      ? appendAny(request, attempt, startMs)
      : appendAt(request, expected, attempt, startMs);
  };
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

/** Appends, one of each stream at a time: calls that are under way together reach the server in any order. */
export const createAppender = (...parts: Parameters<typeof createAppend>): Appender => {
  const append = createAppend(...parts);
  const [{ limits }] = parts;
  const inTurn = createTurns({ waitMsMax: limits.waitMs, waitingMax: TURNS_WAITING_MAX });
  const inSlot = createSlots(SLOTS);
  let pending = 0;
  return {
    get pending() {
      return pending;
    },
    append: async (request) => {
      const startMs = performance.now();
      pending += 1;
      try {
        return await inTurn(request.stream, () => {
          const leftMs = limits.waitMs - (performance.now() - startMs);
          return inSlot(Math.max(0, leftMs), () => append(request, startMs));
        });
      } finally {
        pending -= 1;
      }
    },
  };
};
