import { createHash } from 'node:crypto';
import { chown, mkdtemp, readdir, rename, rm, symlink } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { isAlive } from './processes.ts';
import { sharedDirectory } from './shared-directory.ts';
import { canEnter, type UnixUser } from './unprivileged-user.ts';

export interface BuildSite {
  readonly directory: string;
  readonly dataDirectory: string;
  /** False if another process published its cluster first. */
  publish(): Promise<boolean>;
  close(): Promise<void>;
}

/** If the Postgres user cannot reach `path`, it becomes a link to the cluster in a shared directory. */
export const openBuildSite = async (path: string, user: UnixUser | undefined): Promise<BuildSite> => {
  const parent = dirname(path);
  const isElsewhere = !(await canEnter(parent, user));
  const prefix = '.postgres-init-';
  if (!isElsewhere) await sweep(parent, prefix);
  const directory = isElsewhere
    ? await mkdtemp(join(await sharedDirectory(user), `${shortHash(path)}-`))
    : await mkdtemp(join(parent, `${prefix}${process.pid}-`));
  if (user !== undefined) await chown(directory, user.uid, user.gid);
  const dataDirectory = join(directory, 'postgres');
  let isKept = false;
  return {
    directory,
    dataDirectory,
    publish: async () => {
      const isFirst = await unlessPresent(
        isElsewhere ? symlink(dataDirectory, path) : rename(dataDirectory, path),
      );
      isKept = isElsewhere && isFirst;
      return isFirst;
    },
    close: async () => {
      await rm(isKept ? join(directory, 'password') : directory, { recursive: true, force: true });
    },
  };
};

const unlessPresent = async (change: Promise<void>): Promise<boolean> => {
  try {
    await change;
    return true;
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    if (code === 'EEXIST' || code === 'ENOTEMPTY' || code === 'ENOTDIR') return false;
    throw error;
  }
};

const shortHash = (text: string): string => createHash('sha256').update(text).digest('hex').slice(0, 12);

const sweep = async (parent: string, prefix: string): Promise<void> => {
  for (const name of await readdir(parent)) {
    if (!name.startsWith(prefix)) continue;
    const owner = Number.parseInt(name.slice(prefix.length), 10);
    if (await isAlive(owner)) continue;
    // The initdb of a killed process may still be running and writing.
    const retries = { maxRetries: 5, retryDelay: 100 };
    await rm(join(parent, name), { recursive: true, force: true, ...retries }).catch(() => undefined);
  }
};
