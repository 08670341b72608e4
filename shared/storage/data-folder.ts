import { constants } from 'node:fs';
import { access, stat } from 'node:fs/promises';
import { dirname, resolve } from 'node:path';

export class DataFolderError extends Error {
  override readonly name = 'DataFolderError';
}

/** @throws DataFolderError if this user cannot write to the folder, or cannot create it */
export const refuseUnusableFolder = async (path: string): Promise<void> => {
  const folder = resolve(path);
  try {
    const existing = await nearestExisting(folder);
    if (!(await stat(existing)).isDirectory()) throw refusal(folder, `${existing} is not a folder`);
    await access(existing, constants.W_OK | constants.X_OK);
  } catch (error) {
    const { code = 'unknown' } = error as NodeJS.ErrnoException;
    throw error instanceof DataFolderError ? error : refusal(folder, REASONS[code] ?? code);
  }
};

const REASONS: Readonly<Record<string, string>> = {
  EACCES: 'permission denied',
  EPERM: 'permission denied',
  EROFS: 'the file system is read-only',
};

const refusal = (folder: string, reason: string): DataFolderError =>
  new DataFolderError(`Cannot write to ${folder} (${reason}): set DATA_DIR to another folder.`);

const nearestExisting = async (path: string): Promise<string> => {
  try {
    await stat(path);
    return path;
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    if (code !== 'ENOENT' && code !== 'ENOTDIR') throw error;
    return nearestExisting(dirname(path));
  }
};
