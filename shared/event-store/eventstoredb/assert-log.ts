import { comparePositions, LogGapError, type Position } from '../event-store.ts';
import { failureOf } from './failure.ts';
import type { LogEnd } from './log-end.ts';

/** A subscriber that is ahead would wait in silence until the log has passed it, and miss what came in between. */
export const assertReaches = (position: Position, { end }: LogEnd): void => {
  if (comparePositions(end, position) < 0) {
    throw new LogGapError(
      `position ${position} is ahead of the log, which ends at ${end}: restored from a backup?`,
    );
  }
};

/** No event begins at this place of the log: it is another log than the one that the position is of. */
export const assertKnown = (position: Position, error: unknown): void => {
  if (failureOf(error).kind !== 'invalid-position') return;
  throw new LogGapError(`EventStoreDB knows no position ${position}: restored from a backup?`, {
    cause: error,
  });
};
