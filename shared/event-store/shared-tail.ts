import { createWakeUp, type WakeUp } from '../async/wake-up.ts';
import { comparePositions, type EventBatch, type EventFilter, type Position } from './event-store.ts';
import type { FollowedLog } from './followed-log.ts';
import { createTailBuffer, type TailBounds, type TailBuffer } from './tail-buffer.ts';

export interface TailReaderOptions extends EventFilter {
  /** Exclusive. Must be the end of the log as the reader last saw it. */
  readonly after: Position;
  readonly batchSize: number;
  readonly signal: AbortSignal;
}

export interface TailReader {
  /** Undefined on abort, and if the reader was too slow: then it must read pages. @throws LogGapError */
  next(): Promise<EventBatch | undefined>;
  leave(): void;
}

/** One reader of the log for all subscribers. */
export interface SharedTail {
  /** Undefined if the buffer lacks events after `after`: then the reader must read pages. */
  join(options: TailReaderOptions): TailReader | undefined;
}

export interface TailLimits extends TailBounds {
  /** After this time, a full buffer drops its slowest readers. */
  readonly slowReaderMs: number;
}

const LIMITS: TailLimits = { eventsMax: 4_000, bytesMax: 16 * 1024 * 1024, slowReaderMs: 200 };

interface Reader {
  position: Position;
  reportedCaughtUp: boolean;
  isDropped: boolean;
  readonly news: WakeUp;
}

interface Run {
  readonly buffer: TailBuffer;
  readonly readers: Set<Reader>;
  readonly ending: AbortController;
  failure: { readonly error: unknown } | undefined;
  readonly taken: WakeUp;
}

/** A slow reader, e.g. one whose table is locked, must not stop the others. */
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
    run.ending.signal.addEventListener('abort', () => (current = current === run ? undefined : current));
    void keepReading(source, run, limits.slowReaderMs).catch((error: unknown) => {
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
      const reader: Reader = {
        position: after,
        reportedCaughtUp: true,
        isDropped: false,
        news: createWakeUp(),
      };
      run.readers.add(reader);
      const onEnd = (): void => {
        signal.removeEventListener('abort', onEnd);
        leave(run, reader);
      };
      // An aborted subscriber may never call `next` again, and would hold the tail back.
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
  { batchSize, signal, ...filter }: TailReaderOptions,
): Promise<EventBatch | undefined> => {
  while (!signal.aborted && !reader.isDropped) {
    const batch = run.buffer.take(reader.position, batchSize, filter);
    if (batch.position !== reader.position || (batch.caughtUp && !reader.reportedCaughtUp)) {
      reader.position = batch.position;
      reader.reportedCaughtUp = batch.caughtUp;
      run.taken.wake();
      return batch;
    }
    if (run.failure !== undefined) throw run.failure.error;
    await reader.news.next({ signal });
  }
  return undefined;
};

const keepReading = async (source: FollowedLog, run: Run, slowReaderMs: number): Promise<void> => {
  const { buffer, ending } = run;
  for await (const piece of source.follow(buffer.reached, ending.signal)) {
    if (ending.signal.aborted) return;
    buffer.add(piece);
    wakeAll(run);
    buffer.trim(slowest(run));
    while (buffer.isOver && !ending.signal.aborted) {
      if (!(await takenWithin(run, slowReaderMs))) dropReaders(run, buffer.excess());
      buffer.trim(slowest(run));
    }
  }
  if (!ending.signal.aborted) throw new Error('the log can no longer be followed');
};

const slowest = ({ readers, buffer }: Run): Position => {
  let position = buffer.reached;
  for (const reader of readers) {
    if (comparePositions(reader.position, position) < 0) ({ position } = reader);
  }
  return position;
};

const dropReaders = (run: Run, before: Position): void => {
  for (const reader of run.readers) {
    if (comparePositions(reader.position, before) >= 0) continue;
    reader.isDropped = true;
    leave(run, reader);
    reader.news.wake();
  }
};

const takenWithin = async (run: Run, slowReaderMs: number): Promise<boolean> => {
  const { signal } = run.ending;
  const endMs = performance.now() + slowReaderMs;
  while (!signal.aborted && comparePositions(slowest(run), run.buffer.excess()) < 0) {
    const timeoutMs = endMs - performance.now();
    if (timeoutMs <= 0) return false;
    await run.taken.next({ timeoutMs, signal });
  }
  return true;
};
