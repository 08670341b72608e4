import { parsePosition, printPosition } from './dense-position.ts';
import { LogGapError, type Position, type RecordedEvent } from './event-store.ts';
import {
  untilRead,
  type FollowedLog,
  type LogPiece,
  type OnReadFailed,
  type PageRequest,
} from './followed-log.ts';
import type { LogReach } from './log-reach.ts';

/** `count` positions in order, of which `events` are wanted. */
export interface DensePage {
  readonly events: readonly RecordedEvent[];
  readonly count: number;
  readonly last: number;
  readonly bytes: number;
  readonly atEnd: boolean;
}

export interface DenseLog {
  readonly reach: LogReach;
  readonly onReadFailed: OnReadFailed;
  readPage(after: number, request: Omit<PageRequest, 'after'>): Promise<DensePage>;
  head(): Promise<number>;
}

/** Bounds the delay when a notification was lost with its connection. */
const LOOK_MS = 1_000;
const PAGE_EVENTS = 1_000;

export const followedDenseLog = (dense: DenseLog): FollowedLog => ({
  onReadFailed: dense.onReadFailed,
  readPage: ({ after, ...request }) => readPiece(dense, parsePosition(after), request),
  follow: (after, signal) => follow(dense, after, signal),
});

async function* follow(dense: DenseLog, after: Position, signal: AbortSignal): AsyncGenerator<LogPiece> {
  const { reach, onReadFailed } = dense;
  let last = parsePosition(after);
  let reportedCaughtUp = true;
  while (!signal.aborted) {
    // Before the page: a position that becomes known during the read may be missing from the page.
    const { known } = reach;
    const piece = await untilRead(onReadFailed, signal, () => readPiece(dense, last, { limit: PAGE_EVENTS }));
    if (piece === undefined) return;
    const next = parsePosition(piece.position);
    if (next > last || !reportedCaughtUp) yield piece;
    last = next;
    reportedCaughtUp = piece.caughtUp;
    if (piece.caughtUp) await untilFurther(dense, last, known, signal);
  }
}

// `known` is beyond `last` if the log lost its end or the notification was wrong: then only the head counts.
const untilFurther = async (
  dense: DenseLog,
  last: number,
  known: number,
  signal: AbortSignal,
): Promise<void> => {
  const { reach, onReadFailed } = dense;
  while (!signal.aborted) {
    await reach.beyond(Math.max(known, last), LOOK_MS, signal);
    if (reach.known > Math.max(known, last)) return;
    const head = await untilRead(onReadFailed, signal, () => dense.head());
    if (head === undefined || head > last) return;
    assertReaches(head, last);
  }
};

const readPiece = async (
  dense: DenseLog,
  after: number,
  request: Omit<PageRequest, 'after'>,
): Promise<LogPiece> => {
  const page = await dense.readPage(after, request);
  if (page.count === 0) assertReaches(await dense.head(), after);
  else assertContiguous(after, page);
  const { events, bytes, atEnd: caughtUp } = page;
  return { events, position: printPosition(page.count === 0 ? after : page.last), caughtUp, bytes };
};

/** Otherwise a subscriber ahead of the log would wait until the log passes it, and miss events. */
const assertReaches = (head: number, position: number): void => {
  if (head < position) {
    throw new LogGapError(
      `position ${position} is ahead of the log, which ends at ${head}: restored from a backup?`,
    );
  }
};

/** Positions are unique, so as many as this leave no gap. */
const assertContiguous = (after: number, page: DensePage): void => {
  if (page.last !== after + page.count) {
    throw new LogGapError(`after ${after}: ${page.count} positions, but the last of them is ${page.last}`);
  }
};
