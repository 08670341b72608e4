import { sleep } from '../../shared/async/backoff.ts';
import type { Logger } from 'pino';

/** Begins to watch a list; resolves when something may be due that was not, or after that many milliseconds. */
export type Watch = () => (ms: number) => Promise<void>;

export interface WorkThroughOptions<Due> {
  /** Takes at most so many of what is due. */
  readonly claim: (countMax: number) => Promise<readonly Due[]>;
  /** Does one; what it does not do is due again by the list. */
  readonly work: (due: Due) => Promise<void>;
  /** Done at once, at most. */
  readonly concurrency: number;
  readonly watch: Watch;
  /** What is worked on, for the log, e.g. `feeds`. */
  readonly what: string;
  readonly log: Logger;
  readonly signal: AbortSignal;
}

const EVERY_MS = 2_000;
/** Between two looks at least. */
const GATHER_MS = 20;

/** Works through a list of what is due, until `signal`; resolves when the last work has ended. */
export const workThrough = async <Due>(options: WorkThroughOptions<Due>): Promise<void> => {
  const { work, concurrency, watch, what, log, signal } = options;
  const running = new Set<Promise<void>>();
  while (!signal.aborted) {
    const changed = watch();
    const room = concurrency - running.size;
    const due = room === 0 ? [] : await claim(options, room);
    for (const one of due) {
      const run: Promise<void> = work(one)
        .catch((error: unknown) =>
          log.warn({ err: error, what, due: one }, 'not done; it is due again later'),
        )
        .finally(() => running.delete(run));
      running.add(run);
    }
    const woken = running.size === concurrency ? Promise.race(running) : changed(EVERY_MS);
    await Promise.race([woken, ...running]);
    await sleep(GATHER_MS, signal);
  }
  await Promise.all(running);
};

const claim = async <Due>(
  { claim: take, what, log, signal }: WorkThroughOptions<Due>,
  room: number,
): Promise<readonly Due[]> => {
  try {
    return await take(room);
  } catch (error) {
    if (!signal.aborted) log.warn({ err: error, what }, 'cannot look for what is due; trying again');
    return [];
  }
};
