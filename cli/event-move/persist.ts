import { backoffMs, sleep } from '../../shared/async/backoff.ts';
import {
  AppendTooLargeError,
  LogGapError,
  WrongExpectedRevisionError,
} from '../../shared/event-store/event-store.ts';

const RETRY = { baseMs: 100, capMs: 5_000 };
/** About one minute with the delays above. */
const TRIES = 25;

const isDefinite = (error: unknown): boolean =>
  error instanceof WrongExpectedRevisionError ||
  error instanceof AppendTooLargeError ||
  error instanceof LogGapError ||
  error instanceof RangeError ||
  error instanceof TypeError;

/** Retries repeatable work while a store is unavailable, so that a copy of several hours survives it. */
export const persist = async <T>(work: () => Promise<T>): Promise<T> => {
  for (let attempt = 1; ; attempt += 1) {
    try {
      return await work();
    } catch (error) {
      if (isDefinite(error) || attempt === TRIES) throw error;
      await sleep(backoffMs(attempt, RETRY));
    }
  }
};
