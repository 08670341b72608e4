import { access, constants, statfs } from 'node:fs/promises';

/** A file system in memory, on Linux. In containers it is often small. */
const FOLDER = '/dev/shm';
const BYTES_MIN = 8 * 2 ** 30;

/**
 * Moves the temporary directory of this process and its children to memory, if there is room and `TMPDIR` is not set. A
 * database has 770 files. On ext4, creating a file passes over all files that were deleted in the last 35 s, so that a
 * database after others costs 0.5 s of processor time, in memory 0.05 s.
 */
export const useMemoryFolder = async (): Promise<void> => {
  if (process.env['TMPDIR'] !== undefined) return;
  try {
    await access(FOLDER, constants.W_OK);
    const { bavail, bsize } = await statfs(FOLDER);
    if (bavail * bsize >= BYTES_MIN) process.env['TMPDIR'] = FOLDER;
  } catch {
    // This system has none.
  }
};
