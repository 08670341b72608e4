import { randomBytes } from 'node:crypto';
import { mkdir, open, readdir, rm, stat, type FileHandle } from 'node:fs/promises';
import { join } from 'node:path';
import { pipeline } from 'node:stream/promises';
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

/** A few chunks, so that the next chunk is hashed while these are written. */
const WAITING_BYTES_MAX = 256 * 1024;

const SYNC_BYTES = 2 * 1024 * 1024;

/** @param flush whether `write` syncs the bytes to disk */
export const createSpool = (folder: string, flush: boolean): Spool => ({
  create: async () => {
    await orUnavailable(() => mkdir(folder, { recursive: true }));
    const path = join(folder, `${PREFIX}${process.pid}-${randomBytes(12).toString('base64url')}`);
    return {
      path,
      write: async (bytes) => {
        try {
          const file = await open(path, 'wx', 0o600);
          const written = flush ? syncedWhileItGrows(bytes, file) : bytes;
          await pipeline(written, file.createWriteStream({ highWaterMark: WAITING_BYTES_MAX, flush }));
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

/** The disk works while bytes arrive, so the sync at the end, for which the client waits, is short. */
const syncedWhileItGrows = async function* (
  bytes: AsyncIterable<Buffer>,
  file: FileHandle,
): AsyncGenerator<Buffer> {
  let unsynced = 0;
  let isSyncing = false;
  // Linux reports a lost write to one sync only, so a failure must end the upload.
  let synced = Promise.resolve();
  for await (const chunk of bytes) {
    yield chunk;
    unsynced += chunk.length;
    if (unsynced < SYNC_BYTES || isSyncing) continue;
    unsynced = 0;
    isSyncing = true;
    synced = synced.then(() => file.datasync()).finally(() => (isSyncing = false));
    synced.catch(() => undefined);
  }
  await synced;
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
