import { randomUUID } from 'node:crypto';
import { createLimit, createOneAtATime } from '../../async/limit.ts';
import type { AppendRequest } from '../append-request.ts';
import {
  AppendTooLargeError,
  comparePositions,
  EventStoreUnavailableError,
  WrongExpectedRevisionError,
  type AppendOptions,
  type AppendResult,
} from '../event-store.ts';
import { confirmAppend, type OnAppended } from './confirm-append.ts';
import type { Connection } from './connection.ts';
import type { LogEndReader } from './log-end.ts';
import { printPosition } from './log-position.ts';
import type { LogReader } from './log-reader.ts';
import { repeatIn } from './repeat.ts';
import { sendAppend } from './send-append.ts';
import { createStreamTails } from './stream-tails.ts';
import { storedBytes, toEventData } from './stored-event.ts';

export interface Appender {
  readonly pending: number;
  /** @throws WrongExpectedRevisionError, AppendOutcomeUnknownError, EventStoreUnavailableError */
  append(request: AppendRequest, options?: AppendOptions): Promise<AppendResult>;
}

/** The server allows 100 streams for one connection. Reads and subscriptions need some of them. */
const SLOTS = { atOnceMax: 48, waitingMax: 10_000, tooBusy: () => tooBusy('EventStoreDB') };
const STREAM_WAITING_MAX = 1_000;
const RECORD_BYTES_MAX = 16 * 1024 * 1024 - 10_000;
/** Defined by the port. */
const REPEAT_REACH = 1_000;
/** Conflicts with other processes for one append to `any`. */
const RACES_MAX = 16;

// The server recognises a repeat at an exact revision, but does not report it. Therefore each call stores a
// unique name with its events, reads the last one back and compares. The read is skipped if no other call can
// have sent these events and the position is after the known end of the log.
const createAppendAt =
  (connection: Connection, reader: LogReader, logEnd: LogEndReader, onAppended: OnAppended): AppendAt =>
  async ({ request, attempt, mayBeRepeat, startMs }, expected) => {
    const endBefore = logEnd.known.end;
    const accepted = await sendAppend(connection, {
      stream: request.stream,
      expected,
      events: toEventData(request.events, attempt),
      endMs: startMs + connection.limits.sendMs,
    });
    const revision = Number(accepted.nextExpectedRevision);
    const position = accepted.position && printPosition(accepted.position);
    const isNew = position !== undefined && comparePositions(position, endBefore) > 0;
    if (isNew) logEnd.reaches(position, true);
    return confirmAppend(reader, onAppended, {
      request,
      attempt,
      revision,
      position,
      mayBeRepeat: async () => !isNew || mayBeRepeat().catch(() => true),
      endMs: startMs + connection.limits.answerMs,
    });
  };

interface OneAppend extends Required<AppendOptions> {
  readonly request: AppendRequest;
  readonly attempt: string;
  readonly startMs: number;
}

type AppendAt = (append: OneAppend, expected: number | 'no-stream') => Promise<AppendResult>;

const createAppend = (
  connection: Connection,
  reader: LogReader,
  logEnd: LogEndReader,
  onAppended: OnAppended,
): ((append: OneAppend) => Promise<AppendResult>) => {
  const tails = createStreamTails(reader, REPEAT_REACH);
  const appendAt = createAppendAt(connection, reader, logEnd, onAppended);

  const appendAny = async (append: OneAppend): Promise<AppendResult> => {
    const { request, attempt, startMs } = append;
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
          mayBeRepeat: append.mayBeRepeat,
          endMs: startMs + connection.limits.answerMs,
        };
        return confirmAppend(reader, onAppended, { request, attempt, ...place });
      }
      try {
        const result = await appendAt(append, found.current);
        if (!result.repeated || races === RACES_MAX) {
          tails.appended(
            stream,
            tail.revision,
            events.map(({ id }) => id),
          );
          return result;
        }
        // The stream had grown: only its last events show whether this is the repeat that counts.
        tail = await tails.read(stream);
      } catch (error) {
        if (!(error instanceof WrongExpectedRevisionError)) throw error;
        if (races === RACES_MAX) throw new WrongExpectedRevisionError(stream, 'any', error.actual);
        tail = await tails.read(stream);
      }
    }
  };

  return (append) => {
    const { request, attempt } = append;
    refuseTooLarge(request, attempt);
    const { expected } = request;
    return expected === 'any' ? appendAny(append) : appendAt(append, expected);
  };
};

const unknown = async (): Promise<boolean> => true;

const refuseTooLarge = ({ events }: AppendRequest, attempt: string): void => {
  const bytes = Math.max(...events.map((event) => storedBytes(event, attempt)));
  if (bytes > RECORD_BYTES_MAX) {
    throw new AppendTooLargeError(
      `an event of ${bytes} bytes is larger than EventStoreDB takes`,
      RECORD_BYTES_MAX,
    );
  }
};

const tooBusy = (what: string): EventStoreUnavailableError =>
  new EventStoreUnavailableError(`too many appends wait for ${what}`);

/** One append of each stream at a time, because concurrent calls can reach the server in any order. */
export const createAppender = (...parts: Parameters<typeof createAppend>): Appender => {
  const append = createAppend(...parts);
  const [{ limits }] = parts;
  const inTurn = createOneAtATime({ waitMsMax: limits.waitMs, waitingMax: STREAM_WAITING_MAX, tooBusy });
  const inSlot = createLimit(SLOTS);
  let pending = 0;
  return {
    get pending() {
      return pending;
    },
    append: async (request, { mayBeRepeat = unknown } = {}) => {
      const startMs = performance.now();
      pending += 1;
      try {
        return await inTurn(request.stream, () => {
          const leftMs = limits.waitMs - (performance.now() - startMs);
          return inSlot(Math.max(0, leftMs), () =>
            append({ request, attempt: randomUUID(), mayBeRepeat, startMs }),
          );
        });
      } finally {
        pending -= 1;
      }
    },
  };
};
