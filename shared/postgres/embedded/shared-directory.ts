import { chmod, lstat, mkdir } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { isUsable, type UnixUser } from './unprivileged-user.ts';

/** Prefers a directory that the system does not clean up. @throws Error if none is usable */
export const sharedDirectory = async (user: UnixUser | undefined): Promise<string> => {
  const us = process.getuid?.() ?? 0;
  const candidates = ['/var/lib/buyer-exchange', join(tmpdir(), `buyer-exchange-${us}`)];
  for (const candidate of candidates) {
    if (await isCreated(candidate, user)) return candidate;
  }
  throw new Error(`none of ${candidates.join(', ')} can be used as a directory that Postgres can reach`);
};

const isCreated = async (path: string, user: UnixUser | undefined): Promise<boolean> => {
  try {
    await mkdir(path, { mode: 0o755 });
    await chmod(path, 0o755);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'EEXIST') return false;
  }
  return (await isTrusted(path)) && (await isUsable(path, user));
};

/** In a temporary directory, another user may have created the name first. */
const isTrusted = async (path: string): Promise<boolean> => {
  const { mode, uid } = await lstat(path);
  const isDirectory = (mode & 0o170_000) === 0o040_000;
  return isDirectory && uid === process.getuid?.() && (mode & 0o022) === 0;
};
