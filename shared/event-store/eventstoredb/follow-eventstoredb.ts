import { setImmediate as nextTurn } from 'node:timers/promises';
import type { EventStoreDBClient } from '@eventstore/db-client';
import type { Logger } from 'pino';
import { backoffMs, sleep } from '../../async/backoff.ts';
import { comparePositions, LogGapError, type Position } from '../event-store.ts';
import type { LogPiece } from '../followed-log.ts';
import { unlessAborted } from '../../async/abortable.ts';
import { assertKnown, assertReaches } from './assert-log.ts';
import type { Connection } from './connection.ts';
import { describeFailure, SilentServerError } from './failure.ts';
import type { LogEndReader } from './log-end.ts';
import { bytesBetween, parsePosition } from './log-position.ts';
import { openLogTap, type LogTap } from './log-tap.ts';
import { toRecordedEvent } from './stored-event.ts';

export interface FollowSource {
  readonly connection: Connection;
  readonly log: Pick<Logger, 'warn'>;
  readonly logEnd: LogEndReader;
  onLost(): void;
}

const PIECE_EVENTS_MAX = 1_000;
const WAITING_BYTES_MAX = 16 * 1024 * 1024;
const RETRY = { baseMs: 50, capMs: 2_000 };
/** The log has newer events but the subscription delivers none: treat it as dead. */
const SILENCE_MS_MAX = 2_000;
/** Idle time before a check of the log's end: a subscription can die without an error. */
const LOOK_MS = 5_000;

export async function* followEventStoreDb(
  source: FollowSource,
  after: Position,
  signal: AbortSignal,
): AsyncGenerator<LogPiece> {
  parsePosition(after);
  let position = after;
  let reportedAll = true;
  const { logEnd } = source;
  const lookAtEnd = async (): Promise<void> => {
    const end = await unlessAborted(logEnd.read(), signal);
    if (end !== undefined) assertReaches(position, end);
  };
  for (let failures = 1; !signal.aborted; failures += 1) {
    let tap: LogTap | undefined;
    let client: EventStoreDBClient | undefined;
    try {
      client = await source.connection.leader(Infinity, signal);
      await lookAtEnd();
      if (signal.aborted) return;
      tap = openLogTap(client, position, {
        eventsMax: PIECE_EVENTS_MAX,
        bytesMax: WAITING_BYTES_MAX,
        givenUp: source.connection.givenUp(client),
      });
      while (!signal.aborted) {
        const arrived = await nextArrivals(tap, { position, reportedAll }, logEnd, signal);
        if (arrived === 'nothing') await lookAtEnd();
        else {
          const piece = takePiece(tap, position, arrived === 'all');
          ({ position, caughtUp: reportedAll } = piece);
          failures = 0;
          logEnd.reaches(position);
          yield piece;
        }
      }
    } catch (error) {
      if (error instanceof LogGapError) throw error;
      if (signal.aborted) return;
      if (client !== undefined) source.connection.report(client, error);
      assertKnown(position, error);
      source.onLost();
      if (!source.connection.logsFailure(error)) {
        source.log.warn(
          { failure: describeFailure(error), failures, position },
          'subscription to EventStoreDB lost, subscribing again',
        );
      }
    } finally {
      tap?.close();
    }
    await sleep(backoffMs(failures + 1, RETRY), signal);
  }
}

/**
 * `all`: reaches the log's end as known when the first event arrived; the client's "caught up" comes too
 * early. @throws the error that ended the subscription
 */
const nextArrivals = async (
  tap: LogTap,
  { position, reportedAll }: { readonly position: Position; readonly reportedAll: boolean },
  logEnd: LogEndReader,
  signal: AbortSignal,
): Promise<'all' | 'some' | 'nothing'> => {
  let target: Position | undefined;
  while (!signal.aborted) {
    // If a server ends every subscription early, the subscriber must still make progress.
    if (tap.isFull || (tap.ended !== undefined && tap.waiting > 0)) return 'some';
    if (tap.ended !== undefined) throw tap.ended;
    const isNews = tap.reached !== position || !reportedAll;
    if (isNews && target === undefined) {
      // Events of one event-loop iteration are delivered together.
      await nextTurn();
      target = logEnd.known.head;
      continue;
    }
    const end = target ?? logEnd.known.head;
    const isReached = comparePositions(tap.reached, end) >= 0;
    if (isReached && isNews) return 'all';
    if ((await tap.changed(isReached ? LOOK_MS : SILENCE_MS_MAX, signal)) || signal.aborted) continue;
    if (!isReached) {
      throw new SilentServerError(`the log is at ${end}, but nothing came after ${tap.reached}`);
    }
    return 'nothing';
  }
  return 'nothing';
};

const takePiece = (tap: LogTap, after: Position, caughtUp: boolean): LogPiece => {
  const { events, position } = tap.take(PIECE_EVENTS_MAX);
  return {
    events: events.map(toRecordedEvent).filter((event) => event !== undefined),
    position,
    caughtUp,
    bytes: bytesBetween(after, position),
  };
};
