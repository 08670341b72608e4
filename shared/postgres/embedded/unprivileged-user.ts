import type { Stats } from 'node:fs';
import { readFile, realpath, stat } from 'node:fs/promises';
import { dirname } from 'node:path';

export interface UnixUser {
  readonly name: string;
  readonly uid: number;
  readonly gid: number;
}

const candidates = ['postgres', '_postgres', 'nobody'] as const;

/** Postgres refuses to run as root. */
const fallbackUser = async (): Promise<UnixUser> => {
  const lines = (await readFile('/etc/passwd', 'utf8')).split('\n').map((line) => line.split(':'));
  for (const candidate of candidates) {
    const [name, , uid, gid] = lines.find(([entry]) => entry === candidate) ?? [];
    // macOS may list ids as negative numbers, e.g. -2.
    if (name !== undefined) return { name, uid: Number(uid) >>> 0, gid: Number(gid) >>> 0 };
  }
  throw new Error(
    `Postgres must not run as root, and this machine has none of the users ${candidates.join(', ')}: ` +
      'start the service as an ordinary user, or set DATABASE_URL',
  );
};

/** Undefined: this process's user. */
export const unprivilegedUser = async (): Promise<UnixUser | undefined> =>
  process.getuid?.() === 0 ? fallbackUser() : undefined;

const READ = 4;
const TRAVERSE = 1;

const permits = ({ mode, uid, gid }: Stats, user: UnixUser, wanted: number): boolean => {
  const shift = uid === user.uid ? 6 : gid === user.gid ? 3 : 0;
  return ((mode >> shift) & wanted) === wanted;
};

/** By mode bits: a directory that only access control lists permit counts as unreachable. */
export const canEnter = async (directory: string, user: UnixUser | undefined): Promise<boolean> => {
  if (user === undefined) return true;
  for (let at = await realpath(directory); ; at = dirname(at)) {
    if (!permits(await stat(at), user, TRAVERSE)) return false;
    if (at === dirname(at)) return true;
  }
};

export const isUsable = async (path: string, user: UnixUser | undefined): Promise<boolean> => {
  if (user === undefined) return true;
  const stats = await stat(path);
  const wanted = stats.isDirectory() || (stats.mode & 0o111) !== 0 ? READ | TRAVERSE : READ;
  return permits(stats, user, wanted) && canEnter(dirname(await realpath(path)), user);
};
