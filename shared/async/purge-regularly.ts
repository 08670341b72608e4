import { sleep } from './backoff.ts';
import type { Logger } from 'pino';

const EVERY_MS = 60_000;
const ROWS_MAX = 1_000;

/** Rows that are of no more use, in a table that grows. */
export interface Purgeable {
  /**
   * Deletes at most `rowsMax` of them.
   * @param signal ends what lasts longer (`sweep.ts`)
   * @returns how many
   */
  purge(rowsMax: number, signal?: AbortSignal): Promise<number>;
}

/**
 * Keeps deleting what is of no more use, until `signal`. May run on many nodes at once: each takes what the
 * others have not locked. Small steps, so that no write ever waits for it.
 * @param what for the log
 */
export const purgeRegularly = (what: string, rows: Purgeable, log: Logger, signal: AbortSignal): void => {
  const run = async (): Promise<void> => {
    while (!signal.aborted) {
      const purged = await rows.purge(ROWS_MAX, signal).catch((error: unknown) => {
        log.warn({ err: error, what }, 'old rows could not be purged');
        return 0;
      });
      if (purged < ROWS_MAX) await sleep(EVERY_MS, signal);
    }
  };
  void run();
};
