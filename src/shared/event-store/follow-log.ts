import type { Logger } from 'pino';
import { backoffMs, sleep } from '../backoff.ts';
import { parsePosition, printPosition } from './dense-position.ts';
import { LogGapError, type EventBatch, type RecordedEvent, type SubscribeOptions } from './event-store.ts';
import type { LogTail } from './log-tail.ts';
import { unlessAborted } from './unless-aborted.ts';

/** A piece of the log: `count` positions in order, of which `events` are those that were asked for. */
export interface LogPage {
  readonly events: readonly RecordedEvent[];
  readonly count: number;
  /** First and last position looked at; both 0 when `count` is. */
  readonly first: number;
  readonly last: number;
  /** True when nothing was behind `last` at the time of reading. */
  readonly atEnd: boolean;
}

/** A log with dense positions, as `followLog` needs it. */
export interface LogSource {
  readonly tail: LogTail;
  readonly log: Pick<Logger, 'warn'>;
  /** @param categories undefined for every event */
  readPage(after: number, limit: number, categories?: readonly string[]): Promise<LogPage>;
  head(): Promise<number>;
}

/** Wake-ups can be lost with their connection; then this is how late an event is at most. */
const POLL_MS = 500;
const BATCH_SIZE_DEFAULT = 1_000;
const RETRY = { baseMs: 50, capMs: 2_000 };

/** `EventStore.subscribeToAll` over any log with dense positions. */
export async function* followLog(source: LogSource, options: SubscribeOptions): AsyncGenerator<EventBatch> {
  const { signal, batchSize = BATCH_SIZE_DEFAULT } = options;
  if (!Number.isInteger(batchSize) || batchSize < 1 || batchSize > 10_000) {
    throw new RangeError(`batchSize must be 1 to 10,000, not ${batchSize}`);
  }
  let last = parsePosition(options.after);
  let toldCaughtUp = false;
  while (!signal.aborted) {
    // Read before the page is: a position that becomes known later was perhaps not yet in the page.
    const known = source.tail.known;
    const page = await untilRead(source, signal, async () => {
      const next = await source.readPage(last, batchSize, options.filter?.categories);
      if (next.count === 0) await assertReaches(source, last);
      return next;
    });
    if (page === undefined) return;
    assertContiguous(last, page);
    if (page.count > 0) last = page.last;
    if (page.count > 0 || !toldCaughtUp) {
      toldCaughtUp = page.atEnd;
      yield { events: page.events, position: printPosition(last), caughtUp: page.atEnd };
    }
    if (page.atEnd) await source.tail.beyond(Math.max(known, last), POLL_MS, signal);
  }
}

/** Tries until it succeeds: only an abort or a broken log ends it. */
const untilRead = async <T>(
  source: LogSource,
  signal: AbortSignal,
  read: () => Promise<T>,
): Promise<T | undefined> => {
  for (let failures = 1; !signal.aborted; failures += 1) {
    try {
      return await unlessAborted(read(), signal);
    } catch (error) {
      if (error instanceof LogGapError) throw error;
      source.log.warn({ err: error, failures }, 'the event log cannot be read, trying again');
      await sleep(backoffMs(failures, RETRY), signal);
    }
  }
  return undefined;
};

/** A subscriber that is ahead would wait in silence until the log has passed it, and miss what came in between. */
const assertReaches = async (source: LogSource, position: number): Promise<void> => {
  const head = await source.head();
  if (head < position) {
    throw new LogGapError(
      `position ${position} is ahead of the log, which ends at ${head}: restored from a backup?`,
    );
  }
};

const assertContiguous = (last: number, page: LogPage): void => {
  if (page.count === 0) return;
  if (page.first !== last + 1 || page.last !== last + page.count) {
    throw new LogGapError(
      `after ${last}: expected ${page.count} positions in a row, got ${page.first} to ${page.last}`,
    );
  }
};
