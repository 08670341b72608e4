import { chmod, chown, lstat, mkdir, readFile, realpath, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { Logger } from 'pino';
import { syncFolder } from '../../storage/sync-folder.ts';
import type { Binaries } from './binaries.ts';
import { openBuildSite, type BuildSite } from './build-site.ts';
import { runProgram } from './run-program.ts';
import { createSecrets, readSecrets, type Secrets } from './secrets.ts';
import { isUsable, type UnixUser } from './unprivileged-user.ts';

export interface ClusterOptions {
  readonly dataDir: string;
  readonly binaries: Binaries;
  readonly user: UnixUser | undefined;
  readonly log: Logger;
}

export interface Cluster {
  readonly dataDirectory: string;
  readonly secrets: Secrets;
}

/** The cluster is published when complete: a killed process leaves nothing that breaks the next start. */
export const ensureCluster = async (options: ClusterOptions): Promise<Cluster> => {
  const { dataDir, user } = options;
  const created = await mkdir(dataDir, { recursive: true, mode: 0o755 });
  // Explicit because of the umask. The Postgres user must traverse this folder, but must not list it.
  if (created !== undefined && user !== undefined) await chmod(dataDir, 0o711);
  const path = join(await realpath(dataDir), 'postgres');
  if ((await lstat(path).catch(() => undefined)) === undefined) await createCluster(path, options);
  const dataDirectory = await realpath(path);
  await assertVersion(dataDirectory, options.binaries);
  if (!(await isUsable(dataDirectory, user))) {
    throw new Error(
      `${dataDirectory} cannot be reached by the user ${user?.name}, which must run Postgres: ` +
        'make every directory above it traversable (chmod o+x)',
    );
  }
  return { dataDirectory, secrets: await readSecrets(dataDir) };
};

const assertVersion = async (dataDirectory: string, { majorVersion }: Binaries): Promise<void> => {
  const found = Number.parseInt(await readFile(join(dataDirectory, 'PG_VERSION'), 'utf8'), 10);
  if (found === majorVersion) return;
  throw new Error(
    `${dataDirectory} was created by Postgres ${found}, this is ${majorVersion}: dump it with the old version first`,
  );
};

const createCluster = async (path: string, options: ClusterOptions): Promise<void> => {
  const secrets = await createSecrets(options.dataDir);
  const site = await openBuildSite(path, options.user);
  try {
    await initialise(site, secrets, options);
    await createRoles(site, secrets, options);
    await runProgram({
      path: options.binaries.initdb,
      args: ['--sync-only', '-D', site.dataDirectory],
      user: options.user,
    });
    if (!(await site.publish())) return;
    await syncFolder(options.dataDir);
    const dataDirectory = await realpath(path);
    options.log.info({ dataDirectory }, 'embedded Postgres initialised');
    if (dataDirectory === path) return;
    options.log.warn(
      { dataDirectory, link: path },
      `the user ${options.user?.name} cannot reach the data folder: the cluster is in another folder, and a symbolic link leads to it`,
    );
  } finally {
    await site.close();
  }
};

/** The builtin locale sorts identically on every machine. Syncing once at the end is four times as fast. */
const initialise = async (site: BuildSite, secrets: Secrets, options: ClusterOptions): Promise<void> => {
  const { binaries, user } = options;
  const passwordFile = join(site.directory, 'password');
  await writeFile(passwordFile, secrets.adminPassword, { mode: 0o600 });
  if (user !== undefined) await chown(passwordFile, user.uid, user.gid);
  const locale = ['--encoding=UTF8', '--locale-provider=builtin', '--builtin-locale=C.UTF-8', '--locale=C'];
  const access = ['--username=postgres', `--pwfile=${passwordFile}`, '--auth=scram-sha-256'];
  await runProgram({
    path: binaries.initdb,
    args: ['-D', site.dataDirectory, '--no-sync', ...locale, ...access],
    user,
  });
};

/**
 * Iterations slow down the guessing of chosen passwords. These are 24 random bytes, which cannot be guessed: thousands of
 * iterations would only slow down each new connection.
 */
const SET_UP = ['fsync=off', 'log_checkpoints=off', 'scram_iterations=1'].flatMap((one) => ['-c', one]);

/** Single-user mode needs no port and reads the passwords from standard input. */
const createRoles = async (site: BuildSite, secrets: Secrets, options: ClusterOptions): Promise<void> => {
  const errors = await runProgram({
    path: options.binaries.postgres,
    args: ['--single', '-D', site.dataDirectory, ...SET_UP, 'postgres'],
    user: options.user,
    input: [
      `create role exchange login password '${secrets.runtimePassword}';`,
      'create database exchange owner exchange;',
      '',
    ].join('\n'),
  });
  // The exit status does not report errors. The next line contains the password.
  const failure = /(?:ERROR|FATAL|PANIC): .*/.exec(errors)?.[0];
  if (failure !== undefined) throw new Error(`the embedded Postgres could not be set up: ${failure}`);
};
