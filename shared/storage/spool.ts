import { randomBytes } from 'node:crypto';
import { mkdir, open, readdir, rm, stat, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { systemClock } from '../async/clock.ts';
import { type ByteSource, ObjectStoreUnavailableError, type Draft } from './object-store.ts';
import { ifMissing, orUnavailable } from './file-errors.ts';

export interface Spool {
  create(): Promise<SpoolFile>;
  /** @returns the number of deleted files */
  sweep(olderThanMs: number): Promise<number>;
}

export interface SpoolFile extends Pick<Draft, 'write' | 'inspect'> {
  readonly path: string;
  remove(): Promise<void>;
}

const PREFIX = 'draft-';

/** Each write wakes a thread, which takes longer than copying a chunk of a socket (64 KiB). */
const WRITE_BYTES_MAX = 512 * 1024;

/** @param flush whether `write` syncs the bytes to disk */
export const createSpool = (folder: string, flush: boolean): Spool => ({
  create: async () => {
    await orUnavailable(() => mkdir(folder, { recursive: true }));
    const path = join(folder, `${PREFIX}${process.pid}-${randomBytes(12).toString('base64url')}`);
    return {
      path,
      write: async (bytes) => {
        try {
          await writeFile(path, joined(bytes), { flag: 'wx', mode: 0o600, flush });
        } catch (error) {
          // File-system errors have a `syscall`; any other error comes from `bytes`.
          if ((error as NodeJS.ErrnoException).syscall === undefined) throw error;
          throw new ObjectStoreUnavailableError('file system error', { cause: error });
        }
      },
      inspect: (look) => inspect(path, look),
      remove: () => orUnavailable(() => rm(path, { force: true })),
    };
  },
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
});

const joined = async function* (bytes: AsyncIterable<Buffer>): AsyncGenerator<Buffer> {
  let chunks: Buffer[] = [];
  let length = 0;
  for await (const chunk of bytes) {
    if (length + chunk.length > WRITE_BYTES_MAX) {
      yield Buffer.concat(chunks, length);
      chunks = [];
      length = 0;
    }
    chunks.push(chunk);
    length += chunk.length;
  }
  yield Buffer.concat(chunks, length);
};

const inspect = async <T>(path: string, look: (bytes: ByteSource) => Promise<T>): Promise<T> => {
  const file = await orUnavailable(() => open(path, 'r'));
  try {
    const { size } = await orUnavailable(() => file.stat());
    const readAt = (position: number, length: number): Promise<Buffer> =>
      orUnavailable(async () => {
        const { buffer, bytesRead } = await file.read(Buffer.alloc(length), 0, length, position);
        return buffer.subarray(0, bytesRead);
      });
    return await look({ bytes: size, readAt });
  } finally {
    await file.close();
  }
};
