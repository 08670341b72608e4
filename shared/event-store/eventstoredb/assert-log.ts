import { comparePositions, LogGapError, type Position } from '../event-store.ts';
import { failureOf } from './failure.ts';
import type { LogEnd } from './log-end.ts';

/** Otherwise a subscriber ahead of the log would wait until the log passes it, and miss events. */
export const assertReaches = (position: Position, { end }: LogEnd): void => {
  if (comparePositions(end, position) < 0) {
    throw new LogGapError(
      `position ${position} is ahead of the log, which ends at ${end}: restored from a backup?`,
    );
  }
};

/** An invalid position belongs to another log. @throws LogGapError */
export const assertKnown = (position: Position, error: unknown): void => {
  if (failureOf(error).kind !== 'invalid-position') return;
  throw new LogGapError(`EventStoreDB has no position ${position}: restored from a backup?`, {
    cause: error,
  });
};
