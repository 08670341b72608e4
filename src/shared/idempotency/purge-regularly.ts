import { sleep } from '../backoff.ts';
import type { Logger } from '../log.ts';
import type { IdempotencyStore } from './idempotency-store.ts';

const EVERY_MS = 60_000;
const ROWS_MAX = 1_000;

/**
 * Keeps deleting keys that are no longer honored, until `signal`. May run on many nodes at once: each takes
 * what the others have not locked. Small steps, so that no write ever waits for it.
 */
export const purgeRegularly = (store: IdempotencyStore, log: Logger, signal: AbortSignal): void => {
  const run = async (): Promise<void> => {
    while (!signal.aborted) {
      const purged = await store.purge(ROWS_MAX).catch((error: unknown) => {
        log.warn({ err: error }, 'idempotency keys could not be purged');
        return 0;
      });
      if (purged < ROWS_MAX) await sleep(EVERY_MS, signal);
    }
  };
  void run();
};
