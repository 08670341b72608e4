import { chmod, lstat, readdir } from 'node:fs/promises';
import { join } from 'node:path';

/** Makes everything below readable by all and writable by its owner alone, like `chmod -R go-w,a+rX`. */
export const chmodTree = async (path: string): Promise<void> => {
  const stats = await lstat(path);
  if (stats.isSymbolicLink()) return;
  const runnable = stats.isDirectory() || (stats.mode & 0o100) !== 0;
  await chmod(path, runnable ? 0o755 : 0o644);
  if (!stats.isDirectory()) return;
  for (const entry of await readdir(path)) await chmodTree(join(path, entry));
};
