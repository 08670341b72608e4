import { access, constants, mkdir, open, rename, rm, stat } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { ifMissing, orUnavailable } from './file-errors.ts';
import type { ByteRange, ObjectKey, ObjectStore } from './object-store.ts';
import { createSpool } from './spool.ts';

/**
 * Objects as files of a folder. Drafts are beside them, in the same file system, so that a rename makes one an object:
 * there is no moment in which a part of one could be read. The bytes are on the disk before the rename, and the folder's
 * entry after it.
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
        write: (bytes) => file.write(bytes),
        inspect: (look) => file.inspect(look),
        keep: async () => {
          try {
            await place;
            await orUnavailable(() => rename(file.path, path));
          } catch (error) {
            await file.remove();
            throw error;
          }
          await orUnavailable(() => syncFolder(dirname(path)));
        },
        discard: () => file.remove(),
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
