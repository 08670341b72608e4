import { open } from 'node:fs/promises';

/** A file that was created or renamed in the folder then survives a power cut. */
export const syncFolder = async (path: string): Promise<void> => {
  const folder = await open(path, 'r');
  try {
    await folder.sync();
  } finally {
    await folder.close();
  }
};
