import { backoffMs, sleep } from '../async/backoff.ts';
import type { Logger } from 'pino';
import { SealRefusedError, type SealOptions } from './chain-end.ts';
import type { ChainEnd, Checkpoint } from './checkpoints.ts';
import { sealLog, witnessOf } from './seal-log.ts';
import type { SealMetrics } from './seal-metrics.ts';

/**
 * Logged checkpoints are witnesses: a person with write access to the database cannot change logs that are
 * stored elsewhere.
 */
export const sealRegularly = (
  options: SealOptions & { readonly signal: AbortSignal },
  everyMs: number,
  log: Logger,
  metrics?: SealMetrics,
): void => {
  let known: ChainEnd | undefined;
  const sealOnce = async (): Promise<void> => {
    let last: Checkpoint | undefined;
    const sealing = sealLog(options, { known });
    let next = await sealing.next();
    // After each checkpoint, because the next one may fail.
    for (; next.done !== true; next = await sealing.next()) known = last = next.value;
    known = next.value;
    metrics?.sealed();
    if (last !== undefined) log.info(witnessOf(last), 'log sealed');
  };
  const run = async (): Promise<void> => {
    let failures = 0;
    while (!options.signal.aborted) {
      // A process that has just started has more urgent work.
      await sleep(
        failures === 0 ? everyMs : backoffMs(failures, { baseMs: 1_000, capMs: everyMs }),
        options.signal,
      );
      if (options.signal.aborted) return;
      try {
        await sealOnce();
        failures = 0;
      } catch (error) {
        failures += 1;
        if (error instanceof SealRefusedError) {
          metrics?.refused(error.reason);
          log.error(
            { err: error, reason: error.reason, failures },
            'the log is not sealed: the chain is not trusted',
          );
        } else log.warn({ err: error, failures }, 'the log could not be sealed');
      }
    }
  };
  void run();
};
