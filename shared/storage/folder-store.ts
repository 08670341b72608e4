import { access, constants, mkdir, open, rename, rm, stat } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { ifMissing, orUnavailable } from './file-errors.ts';
import type { ByteRange, ObjectKey, ObjectStore } from './object-store.ts';
import { createSpool } from './spool.ts';
import { syncFolder } from './sync-folder.ts';

/** A rename publishes an object: bytes are synced before it, the folder entry after it. */
export const createFolderStore = (folder: string): ObjectStore => {
  const spool = createSpool(join(folder, 'drafts'), true);
  // Two levels of folders: one million files give about 15 files per folder.
  const pathOf = (key: ObjectKey): string => join(folder, 'objects', key.slice(0, 2), key.slice(2, 4), key);
  return {
    kind: 'folder',
    begin: async (key) => {
      const path = pathOf(key);
      // Runs while the bytes arrive.
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

const makeFolder = (path: string): Promise<void> =>
  orUnavailable(async () => {
    const made = await mkdir(path, { recursive: true });
    if (made === undefined) return;
    for (let at = path; at.length >= made.length;) {
      at = dirname(at);
      await syncFolder(at);
    }
  });

/** Opened before it returns: an object that is deleted later can still be read to its end. */
const read = async (path: string, range: ByteRange | undefined) => {
  const file = await open(path, 'r').catch(ifMissing(undefined));
  return file?.createReadStream(range === undefined ? {} : { start: range.first, end: range.last });
};
