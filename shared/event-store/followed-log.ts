import type { Logger } from 'pino';
import { backoffMs, sleep } from '../async/backoff.ts';
import { LogGapError, type EventBatch, type EventFilter, type Position } from './event-store.ts';
import { unlessAborted } from '../async/abortable.ts';

export interface LogPiece extends EventBatch {
  readonly bytes: number;
}

export interface PageRequest extends EventFilter {
  /** Exclusive. */
  readonly after: Position;
  readonly limit: number;
}

/** @param failures consecutive, at least 1 */
export type OnReadFailed = (error: unknown, failures: number) => void;

export const warnOfFailedReads =
  (log: Pick<Logger, 'warn'>): OnReadFailed =>
  (error, failures) =>
    log.warn({ err: error, failures }, 'the event log cannot be read, trying again');

export interface FollowedLog {
  readonly onReadFailed: OnReadFailed;
  /** @throws LogGapError when the log ends before `after` or lacks a position; any error of the store */
  readPage(request: PageRequest): Promise<LogPiece>;
  /** @throws LogGapError as in `readPage` */
  follow(after: Position, signal: AbortSignal): AsyncIterable<LogPiece>;
}

const RETRY = { baseMs: 50, capMs: 2_000 };

/** Only an abort (undefined), a gap in the log or an invalid position ends the retries. */
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
