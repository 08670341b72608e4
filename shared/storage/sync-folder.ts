import { open } from 'node:fs/promises';

/** Syncs a folder's entries to disk: a file that was created or renamed in it survives a power cut. */
export const syncFolder = async (path: string): Promise<void> => {
  const folder = await open(path, 'r');
  try {
    await folder.sync();
  } finally {
    await folder.close();
  }
};
