import { open, readFile, rename, stat } from 'node:fs/promises';
import type { Binaries } from './binaries.ts';
import { discardStaleFile, findPostmaster } from './postmaster-file.ts';
import { endOrphans, resume } from './processes.ts';
import { runProgram } from './run-program.ts';
import { fittedSettings, type PostgresSettings } from './settings.ts';
import type { UnixUser } from './unprivileged-user.ts';

export interface RunnableCluster {
  readonly dataDirectory: string;
  readonly binaries: Binaries;
  /** Undefined: the user of this process. */
  readonly user: UnixUser | undefined;
}

export interface StartOptions extends RunnableCluster {
  /** Opened by this process, because the Postgres user may not be able to. */
  readonly logFile: string;
  readonly settings: PostgresSettings;
}

/** Postgres rejects a setting, or the machine lacks the resources. A retry would fail, too. */
export class RefusedSettingError extends Error {
  override readonly name = 'RefusedSettingError';
}

const REFUSED = /FATAL: +(?:.*parameter "|could not map anonymous shared memory)/;

const LOG_BYTES_MAX = 10 * 2 ** 20;
const LOG_TAIL_BYTES = 2_000;
const START_SECONDS_MAX = 10;

const pgCtl = (
  { dataDirectory, binaries, user }: RunnableCluster,
  args: readonly string[],
  log?: number,
): Promise<string> =>
  // pg_ctl puts its argument into a shell command between double quotes.
  runProgram({ path: binaries.pgCtl, args, user, output: log, environment: { PGDATA: dataDirectory } });

const quoted = (word: string): string => `'${word.replaceAll("'", `'\\''`)}'`;

/** Ctrl-C does not reach Postgres, and it outlives this process. @throws RefusedSettingError, Error */
export const startPostgres = async (options: StartOptions, port: number): Promise<void> => {
  const { dataDirectory, logFile } = options;
  await endOrphans(dataDirectory);
  await discardStaleFile(dataDirectory);
  const settings = { ...(await fittedSettings(dataDirectory)), ...options.settings, port: String(port) };
  const parameters = Object.entries(settings).map(([name, value]) => `-c ${quoted(`${name}=${value}`)}`);
  // So that `isPostmasterOf` recognises the process.
  parameters.push(`-D ${quoted(dataDirectory)}`);
  const log = await openLog(logFile);
  const { size } = await log.stat();
  try {
    await pgCtl(options, ['start', '-t', String(START_SECONDS_MAX), '-o', parameters.join(' ')], log.fd);
  } catch (error) {
    const written = (await readFile(logFile)).subarray(size).subarray(-LOG_TAIL_BYTES).toString().trim();
    const Failure = REFUSED.test(written) ? RefusedSettingError : Error;
    throw new Failure(`Postgres did not start: ${written}`, { cause: error });
  } finally {
    await log.close();
  }
};

const openLog = async (path: string) => {
  const size = (await stat(path).catch(() => undefined))?.size ?? 0;
  if (size > LOG_BYTES_MAX) await rename(path, `${path}.1`);
  return open(path, 'a', 0o600);
};

/** The graceful stop of Node has 10 s in total. */
const STOP_SECONDS_MAX = { fast: 6, immediate: 2 };

// An immediate stop loses no committed data. `pg_ctl status` reports any process that has reused the pid.
export const stopPostgres = async (cluster: RunnableCluster): Promise<void> => {
  const stop = async (mode: keyof typeof STOP_SECONDS_MAX): Promise<void> => {
    const found = await findPostmaster(cluster.dataDirectory);
    if (found === undefined) return;
    // A paused process receives the stop signal only after it continues.
    resume(found.pid);
    await pgCtl(cluster, ['stop', '-m', mode, '-t', String(STOP_SECONDS_MAX[mode])]);
  };
  await stop('fast').catch(() => stop('immediate'));
};
