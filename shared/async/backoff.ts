import { setTimeout as delay } from 'node:timers/promises';

export interface BackoffBounds {
  /** Upper bound of the first wait. */
  readonly baseMs: number;
  /** Upper bound of every later one. */
  readonly capMs: number;
}

/**
 * How long to wait before the next try: exponential with full jitter, so that many losers do not come back
 * at the same moment.
 * @param attempt from 1
 */
export const backoffMs = (attempt: number, { baseMs, capMs }: BackoffBounds): number =>
  Math.random() * Math.min(capMs, baseMs * 2 ** Math.min(attempt - 1, 30));

/** Waits; returns early, without an error, when `signal` fires. */
export const sleep = async (ms: number, signal?: AbortSignal): Promise<void> => {
  try {
    await delay(ms, undefined, signal === undefined ? {} : { signal });
  } catch (error) {
    if (signal?.aborted !== true) throw error;
  }
};
