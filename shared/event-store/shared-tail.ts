import { createWakeUp, type WakeUp } from '../async/wake-up.ts';
import { comparePositions, type EventBatch, type Position } from './event-store.ts';
import type { FollowedLog } from './followed-log.ts';
import { createTailBuffer, type TailBounds, type TailBuffer } from './tail-buffer.ts';

/** A reader's request to the tail. */
export interface TailReaderOptions {
  /** Exclusive; the log ended there when the reader looked. */
  readonly after: Position;
  readonly batchSize: number;
  readonly categories: readonly string[] | undefined;
  readonly signal: AbortSignal;
}

export interface TailReader {
  /**
   * Waits for the next batch. Its `caughtUp` means: the log ended there when the tail read it.
   * @returns undefined on abort, and when the reader was too slow and was let go: it has to read pages
   * @throws LogGapError what ended the tail
   */
  next(): Promise<EventBatch | undefined>;
  leave(): void;
}

/** Follows the end of the log once for all subscribers of a store. It runs while it has a reader. */
export interface SharedTail {
  /** @returns undefined when the buffer no longer holds everything behind `after`: the reader has to read pages */
  join(options: TailReaderOptions): TailReader | undefined;
}

export interface TailLimits extends TailBounds {
  /** How long a full buffer waits for its slowest readers before it lets them go, ms. */
  readonly patienceMs: number;
}

const LIMITS: TailLimits = { eventsMax: 4_000, bytesMax: 16 * 1024 * 1024, patienceMs: 200 };

interface Reader {
  position: Position;
  toldCaughtUp: boolean;
  isLetGo: boolean;
  readonly news: WakeUp;
}

/** One run of the tail, from the first reader's coming to the last one's leaving. */
interface Run {
  readonly buffer: TailBuffer;
  readonly readers: Set<Reader>;
  readonly ending: AbortController;
  failure: { readonly error: unknown } | undefined;
  /** Woken when a reader has taken a batch or left. */
  readonly taken: WakeUp;
}

/**
 * The buffer is bounded: when it is full, reading stops until the slowest readers have taken something. A reader that
 * takes longer than `patienceMs` (its table is locked, for example) is let go, so that the other readers go on.
 */
export const createSharedTail = (source: FollowedLog, limits: TailLimits = LIMITS): SharedTail => {
  let current: Run | undefined;

  const start = (after: Position): Run => {
    const run: Run = {
      buffer: createTailBuffer(after, limits),
      readers: new Set(),
      ending: new AbortController(),
      failure: undefined,
      taken: createWakeUp(),
    };
    current = run;
    // A run that has ended is of no use, and its buffer may be large.
    run.ending.signal.addEventListener('abort', () => (current = current === run ? undefined : current));
    void keepReading(source, run, limits.patienceMs).catch((error: unknown) => {
      run.failure = { error };
      run.ending.abort();
      wakeAll(run);
    });
    return run;
  };

  return {
    join: (options) => {
      const { after, signal } = options;
      const run = current ?? start(after);
      if (comparePositions(after, run.buffer.from) < 0) return undefined;
      const reader: Reader = { position: after, toldCaughtUp: true, isLetGo: false, news: createWakeUp() };
      run.readers.add(reader);
      const onEnd = (): void => {
        signal.removeEventListener('abort', onEnd);
        leave(run, reader);
      };
      // A subscriber whose signal was aborted may never ask for another batch, and would hold the tail back.
      signal.addEventListener('abort', onEnd, { once: true });
      return { next: () => nextBatch(run, reader, options), leave: onEnd };
    },
  };
};

const wakeAll = ({ readers }: Run): void => {
  for (const { news } of readers) news.wake();
};

const leave = (run: Run, reader: Reader): void => {
  if (!run.readers.delete(reader)) return;
  if (run.readers.size === 0) run.ending.abort();
  run.taken.wake();
};

const nextBatch = async (
  run: Run,
  reader: Reader,
  { batchSize, categories, signal }: TailReaderOptions,
): Promise<EventBatch | undefined> => {
  while (!signal.aborted && !reader.isLetGo) {
    const batch = run.buffer.take(reader.position, batchSize, categories);
    if (batch.position !== reader.position || (batch.caughtUp && !reader.toldCaughtUp)) {
      reader.position = batch.position;
      reader.toldCaughtUp = batch.caughtUp;
      run.taken.wake();
      return batch;
    }
    if (run.failure !== undefined) throw run.failure.error;
    await reader.news.next({ signal });
  }
  return undefined;
};

const keepReading = async (source: FollowedLog, run: Run, patienceMs: number): Promise<void> => {
  const { buffer, ending } = run;
  for await (const piece of source.follow(buffer.reached, ending.signal)) {
    if (ending.signal.aborted) return;
    buffer.add(piece);
    wakeAll(run);
    buffer.trim(slowest(run));
    while (buffer.isOver && !ending.signal.aborted) {
      if (!(await takenWithin(run, patienceMs))) letGo(run, buffer.excess());
      buffer.trim(slowest(run));
    }
  }
  if (!ending.signal.aborted) throw new Error('the log can no longer be followed');
};

/** The position of the slowest reader; pieces up to there are no longer needed. */
const slowest = ({ readers, buffer }: Run): Position => {
  let position = buffer.reached;
  for (const reader of readers) {
    if (comparePositions(reader.position, position) < 0) ({ position } = reader);
  }
  return position;
};

const letGo = (run: Run, before: Position): void => {
  for (const reader of run.readers) {
    if (comparePositions(reader.position, before) >= 0) continue;
    reader.isLetGo = true;
    leave(run, reader);
    reader.news.wake();
  }
};

/** Waits until readers have taken enough to trim the buffer to its bounds. @returns false after `patienceMs` */
const takenWithin = async (run: Run, patienceMs: number): Promise<boolean> => {
  const { signal } = run.ending;
  const endMs = performance.now() + patienceMs;
  while (!signal.aborted && comparePositions(slowest(run), run.buffer.excess()) < 0) {
    const timeoutMs = endMs - performance.now();
    if (timeoutMs <= 0) return false;
    await run.taken.next({ timeoutMs, signal });
  }
  return true;
};
