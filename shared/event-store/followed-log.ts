import type { Logger } from 'pino';
import { backoffMs, sleep } from '../async/backoff.ts';
import { LogGapError, type EventBatch, type Position } from './event-store.ts';
import { unlessAborted } from '../async/abortable.ts';

/** Consecutive events of the log as a store hands them out. */
export interface LogPiece extends EventBatch {
  /** Approximate size of the events in memory. */
  readonly bytes: number;
}

/** A page of the log behind a position. */
export interface PageRequest {
  /** Exclusive. */
  readonly after: Position;
  /** Events considered at most. */
  readonly limit: number;
  /** Undefined: all. */
  readonly categories: readonly string[] | undefined;
}

/** Reports a failed read that is retried. `failures`: how many in a row, at least 1. */
export type OnReadFailed = (error: unknown, failures: number) => void;

/** One line for each failure. */
export const warnOfFailedReads =
  (log: Pick<Logger, 'warn'>): OnReadFailed =>
  (error, failures) =>
    log.warn({ err: error, failures }, 'the event log cannot be read, trying again');

/** A store's log as `subscribeToLog` and the shared tail read it. */
export interface FollowedLog {
  readonly onReadFailed: OnReadFailed;
  /** @throws LogGapError when the log does not reach `after` or lacks a position; whatever the store throws */
  readPage(request: PageRequest): Promise<LogPiece>;
  /**
   * Yields everything behind a position as it arrives, in order, until `signal` is aborted. Reconnects by itself.
   * @throws LogGapError as `readPage`
   */
  follow(after: Position, signal: AbortSignal): AsyncIterable<LogPiece>;
}

const RETRY = { baseMs: 50, capMs: 2_000 };

/**
 * Retries a read until it succeeds. Only an abort, a gap in the log or an invalid position ends the retries.
 * @param read receives the number of failures so far
 * @returns undefined on abort
 */
export const untilRead = async <T>(
  onFailed: OnReadFailed,
  signal: AbortSignal,
  read: (failures: number) => Promise<T>,
): Promise<T | undefined> => {
  for (let failures = 0; !signal.aborted;) {
    try {
      return await unlessAborted(read(failures), signal);
    } catch (error) {
      if (error instanceof LogGapError || error instanceof RangeError) throw error;
      failures += 1;
      onFailed(error, failures);
      await sleep(backoffMs(failures, RETRY), signal);
    }
  }
  return undefined;
};
