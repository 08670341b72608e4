import { setTimeout as delay } from 'node:timers/promises';

export interface BackoffBounds {
  readonly baseMs: number;
  readonly capMs: number;
}

/** After `attempt` (from 1): exponential, with full jitter to spread simultaneous callers. */
export const backoffMs = (attempt: number, { baseMs, capMs }: BackoffBounds): number =>
  Math.random() * Math.min(capMs, baseMs * 2 ** Math.min(attempt - 1, 30));

export const sleep = async (ms: number, signal?: AbortSignal): Promise<void> => {
  try {
    await delay(ms, undefined, signal === undefined ? {} : { signal });
  } catch (error) {
    if (signal?.aborted !== true) throw error;
  }
};
