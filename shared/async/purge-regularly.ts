import { sleep } from './backoff.ts';
import type { Logger } from 'pino';

const EVERY_MS = 60_000;
const ROWS_MAX = 1_000;

export interface Purgeable {
  /** Returns the number of deleted rows, at most `rowsMax`. `signal` aborts a long run (`sweep.ts`). */
  purge(rowsMax: number, signal?: AbortSignal): Promise<number>;
}

/**
 * Deletes obsolete rows until `signal` is aborted. Several nodes can run it: each takes rows that no other node has
 * locked. The steps are small so that no write waits for them.
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
