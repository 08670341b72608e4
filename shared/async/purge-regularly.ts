import { sleep } from './backoff.ts';
import type { Logger } from 'pino';

const EVERY_MS = 60_000;
const ROWS_MAX = 1_000;

export interface Purgeable {
  purge(rowsMax: number, signal?: AbortSignal): Promise<number>;
}

/** In small steps, so that no write waits. Skips rows that another node has locked. */
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
