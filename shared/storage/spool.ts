import { randomBytes } from 'node:crypto';
import { createWriteStream } from 'node:fs';
import { mkdir, open, readdir, rm, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { pipeline } from 'node:stream/promises';
import { systemClock } from '../async/clock.ts';
import { type ByteSource, ObjectStoreUnavailableError, type Draft } from './object-store.ts';
import { ifMissing, orUnavailable } from './file-errors.ts';

/** A folder of files that are being written, each of use only to the upload that writes it. */
export interface Spool {
  create(): Promise<SpoolFile>;
  /** Deletes files that were not written to for so long. @returns how many */
  sweep(olderThanMs: number): Promise<number>;
}

/** A file that is written once. */
export interface SpoolFile extends Pick<Draft, 'write' | 'inspect'> {
  readonly path: string;
  remove(): Promise<void>;
}

const PREFIX = 'draft-';

/** Bytes of one file that wait to be written: a few chunks, so that the next one is hashed meanwhile. */
const WAITING_BYTES_MAX = 256 * 1024;

/**
 * @param folder made when it is first needed
 * @param flush whether the bytes are on the disk (`fsync`) once they are written
 */
export const createSpool = (folder: string, flush: boolean): Spool => ({
  create: async () => {
    await orUnavailable(() => mkdir(folder, { recursive: true }));
    const path = join(folder, `${PREFIX}${process.pid}-${randomBytes(12).toString('base64url')}`);
    return {
      path,
      write: async (bytes) => {
        const options = { flags: 'wx', mode: 0o600, highWaterMark: WAITING_BYTES_MAX, flush };
        try {
          await pipeline(bytes, createWriteStream(path, options));
        } catch (error) {
          // Refusals of the file system name a system call; everything else comes from `bytes`.
          if ((error as NodeJS.ErrnoException).syscall === undefined) throw error;
          throw new ObjectStoreUnavailableError('the file system refused', { cause: error });
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
