import type { FileHandle } from 'node:fs/promises';

/** Has what is written of a file go to the disk while more comes: less is left to be waited for in the end. */
export interface EarlyFlush {
  /** To be told how many bytes there are, after each write. */
  written(bytes: number): void;
  /**
   * Returns when none is running any more.
   * @throws what one of them met: a system tells of bytes that it could not write once, to whoever asks first
   */
  done(): Promise<void>;
}

const FLUSH_BYTES = 4 * 1024 * 1024;
/** Of all files. Node has four threads for files, and the others are to go on writing. */
const FLUSHES_MAX = 2;

/** For files of one disk. */
export const createFlushEarly = (): ((file: Pick<FileHandle, 'datasync'>) => EarlyFlush) => {
  let running = 0;
  return (file) => {
    let flushedTo = 0;
    let isRunning = false;
    let last = Promise.resolve();
    const flush = async (): Promise<void> => {
      isRunning = true;
      running += 1;
      try {
        await file.datasync();
      } finally {
        isRunning = false;
        running -= 1;
      }
    };
    return {
      written: (bytes) => {
        if (isRunning || running >= FLUSHES_MAX || bytes - flushedTo < FLUSH_BYTES) return;
        flushedTo = bytes;
        const before = last;
        last = flush().then(() => before);
        // Whoever asks in the end is told.
        last.catch(() => undefined);
      },
      done: () => last,
    };
  };
};
