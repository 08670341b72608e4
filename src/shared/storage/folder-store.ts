import { access, constants, mkdir, open, rename, rm, stat } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { ifMissing, orUnavailable } from './file-errors.ts';
import type { ByteRange, ObjectKey, ObjectStore } from './object-store.ts';
import type { SpoolFile } from './spool-file.ts';
import { createSpool } from './spool.ts';

/**
 * Objects as files of a folder. What is being written is beside them, in the same file system, so that a rename makes
 * it an object: there is no moment in which a part of one could be read.
 */
export const createFolderStore = (folder: string): ObjectStore => {
  const spool = createSpool(join(folder, 'drafts'), true);
  // Two levels of folders: a million files are some fifteen in each.
  const pathOf = (key: ObjectKey): string => join(folder, 'objects', key.slice(0, 2), key.slice(2, 4), key);
  return {
    kind: 'folder',
    begin: async (key) => {
      const path = pathOf(key);
      // While the bytes come: its folder is on the disk before they are.
      const place = makeFolder(dirname(path));
      place.catch(() => undefined);
      const file = await spool.create();
      return {
        write: (chunk) => file.write(chunk),
        digest: () => file.digest(),
        readAt: (position, length) => file.readAt(position, length),
        keep: () =>
          keep(file, place, path).catch(async (error: unknown) => {
            await spool.remove(file);
            throw error;
          }),
        discard: async () => {
          await file.close();
          await spool.remove(file);
        },
      };
    },
    sizeOf: (key) => orUnavailable(async () => (await stat(pathOf(key)).catch(ifMissing(undefined)))?.size),
    read: (key, range) => orUnavailable(() => read(pathOf(key), range)),
    remove: (key) => orUnavailable(() => rm(pathOf(key), { force: true })),
    sweep: (olderThanMs) => spool.sweep(olderThanMs),
    check: () =>
      orUnavailable(async () => {
        await mkdir(folder, { recursive: true });
        await access(folder, constants.R_OK | constants.W_OK | constants.X_OK);
      }),
  };
};

/** The bytes first, then the name, then the folder's entry of it: each on the disk before the next. */
const keep = async (file: SpoolFile, place: Promise<void>, path: string): Promise<void> => {
  try {
    await Promise.all([file.sync(), place]);
  } finally {
    await file.close();
  }
  await orUnavailable(async () => {
    await rename(file.path, path);
    await syncFolder(dirname(path));
  });
};

/** A folder, and the entries of the folders above that were made for it, on the disk. */
const makeFolder = (path: string): Promise<void> =>
  orUnavailable(async () => {
    const made = await mkdir(path, { recursive: true });
    if (made === undefined) return;
    for (let at = path; at.length >= made.length;) {
      at = dirname(at);
      await syncFolder(at);
    }
  });

const syncFolder = async (path: string): Promise<void> => {
  const folder = await open(path, 'r');
  try {
    await folder.sync();
  } finally {
    await folder.close();
  }
};

/** Opened before anything is promised: an object that is removed meanwhile can still be read to its end. */
const read = async (path: string, range: ByteRange | undefined) => {
  const file = await open(path, 'r').catch(ifMissing(undefined));
  return file?.createReadStream(range === undefined ? {} : { start: range.first, end: range.last });
};
