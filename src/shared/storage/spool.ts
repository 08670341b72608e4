import { mkdir, open, readdir, rm, stat, type FileHandle } from 'node:fs/promises';
import { join } from 'node:path';
import { systemClock } from '../clock.ts';
import { randomSecret } from '../ids.ts';
import { createFlushEarly, type EarlyFlush } from './flush-early.ts';
import { ObjectStoreUnavailableError } from './object-store.ts';

/** Files of a folder that hold what is being written. They are of no use to anybody but who writes them. */
export interface Spool {
  create(): Promise<SpoolFile>;
  /** Deletes files that nobody has written to for so long. @returns how many */
  sweep(olderThanMs: number): Promise<number>;
}

export interface SpoolFile {
  readonly path: string;
  readonly bytes: number;
  write(chunks: readonly Buffer[]): Promise<void>;
  readAt(position: number, length: number): Promise<Buffer>;
  /** Returns when the bytes are on the disk. */
  sync(): Promise<void>;
  close(): Promise<void>;
  remove(): Promise<void>;
}

const PREFIX = 'draft-';

/**
 * @param folder made when it is first needed
 * @param isToLast whether its files are to be on the disk in the end (`sync`)
 */
export const createSpool = (folder: string, isToLast: boolean): Spool => {
  const flushEarly = createFlushEarly();
  return {
    create: () =>
      orUnavailable(async () => {
        await mkdir(folder, { recursive: true });
        const path = join(folder, `${PREFIX}${process.pid}-${randomSecret(12)}`);
        const file = await open(path, 'wx+', 0o600);
        return spoolFile(path, file, isToLast ? flushEarly(file) : undefined);
      }),
    sweep: (olderThanMs) =>
      orUnavailable(async () => {
        const names = await readdir(folder).catch(ifMissing<string[]>([]));
        let removed = 0;
        for (const name of names.filter((one) => one.startsWith(PREFIX))) {
          const path = join(folder, name);
          const file = await stat(path).catch(ifMissing(undefined));
          if (file === undefined || systemClock.now() - file.mtimeMs < olderThanMs) continue;
          await rm(path, { force: true });
          removed += 1;
        }
        return removed;
      }),
  };
};

const spoolFile = (path: string, file: FileHandle, early: EarlyFlush | undefined): SpoolFile => {
  let bytes = 0;
  return {
    path,
    get bytes() {
      return bytes;
    },
    write: (chunks) =>
      orUnavailable(async () => {
        for (let rest = chunks; rest.length > 0;) {
          const { bytesWritten } = await file.writev(rest, bytes);
          bytes += bytesWritten;
          rest = without(rest, bytesWritten);
        }
        early?.written(bytes);
      }),
    readAt: (position, length) =>
      orUnavailable(async () => {
        const { buffer, bytesRead } = await file.read(Buffer.alloc(length), 0, length, position);
        return buffer.subarray(0, bytesRead);
      }),
    sync: () =>
      orUnavailable(async () => {
        await early?.done();
        await file.sync();
      }),
    close: () => orUnavailable(() => file.close()),
    remove: () => orUnavailable(() => rm(path, { force: true })),
  };
};

/** What is left of chunks when so many bytes of them are written: a disk that is nearly full takes a part. */
const without = (chunks: readonly Buffer[], written: number): readonly Buffer[] => {
  let left = written;
  return chunks.flatMap((chunk) => {
    const skipped = Math.min(left, chunk.length);
    left -= skipped;
    return skipped === chunk.length ? [] : [chunk.subarray(skipped)];
  });
};

/** @throws ObjectStoreUnavailableError for whatever the file system refuses: a full disk, a lost mount */
export const orUnavailable = async <T>(work: () => Promise<T>): Promise<T> => {
  try {
    return await work();
  } catch (error) {
    throw new ObjectStoreUnavailableError('the file system refused', { cause: error });
  }
};

export const ifMissing =
  <T>(value: T) =>
  (error: NodeJS.ErrnoException): T => {
    if (error.code === 'ENOENT') return value;
    throw error;
  };
