import { mkdir, readdir, rm, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { systemClock } from '../clock.ts';
import { randomSecret } from '../ids.ts';
import { createDiskFile } from './disk-file.ts';
import { ifMissing, orUnavailable } from './file-errors.ts';
import { createSums } from './sha256.ts';
import { createSlabs, SLAB_BYTES } from './slabs.ts';
import { createSpoolFile, type SpoolFile } from './spool-file.ts';

/** Files of a folder that hold what is being written. They are of no use to anybody but who writes them. */
export interface Spool {
  create(): Promise<SpoolFile>;
  /** Deletes a file of it, closed or not. */
  remove(file: SpoolFile): Promise<void>;
  /** Deletes files that nobody has written to for so long. @returns how many */
  sweep(olderThanMs: number): Promise<number>;
}

const PREFIX = 'draft-';

/**
 * Bytes of a piece, by how many files there are: large writes take a quarter less processor time for their bytes than
 * small ones do, and many files are not to take more memory than a few. Two pieces and what has
 * come beyond them are 38 MB for a hundred.
 */
const PIECE_BYTES = { most: 2 * 1024 * 1024, ofAll: 16 * 1024 * 1024 };

/** Of each file, by how many there are. */
export const slabsOfPiece = (files: number): number =>
  Math.max(1, Math.floor(Math.min(PIECE_BYTES.most, PIECE_BYTES.ofAll / (2 * files)) / SLAB_BYTES));

/**
 * @param folder made when it is first needed
 * @param isToLast whether its files are to be on the disk in the end (`sync`)
 */
export const createSpool = (folder: string, isToLast: boolean): Spool => {
  const [slabs, sums] = [createSlabs(), createSums()];
  let files = 0;
  return {
    create: async () => {
      const path = join(folder, `${PREFIX}${process.pid}-${randomSecret(12)}`);
      const make = () => createDiskFile(path, isToLast);
      const file = await orUnavailable(() =>
        make().catch(async (error: NodeJS.ErrnoException) => {
          if (error.code !== 'ENOENT') throw error;
          await mkdir(folder, { recursive: true });
          return make();
        }),
      );
      files += 1;
      return createSpoolFile(path, {
        file,
        slabs,
        sum: sums.begin(),
        slabsOfPiece: () => slabsOfPiece(files),
        onClose: () => (files -= 1),
      });
    },
    remove: ({ path }) => orUnavailable(() => rm(path, { force: true })),
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
