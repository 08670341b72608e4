import { open, readFile, rename, stat } from 'node:fs/promises';
import type { Binaries } from './binaries.ts';
import { discardStaleFile, findPostmaster } from './postmaster-file.ts';
import { endOrphans, resume } from './processes.ts';
import { runProgram } from './run-program.ts';
import { fittedSettings, type PostgresSettings } from './settings.ts';
import type { UnixUser } from './unprivileged-user.ts';

/** A cluster, and the programs and the user that run it. */
export interface RunnableCluster {
  readonly dataDirectory: string;
  readonly binaries: Binaries;
  /** Runs Postgres; undefined for the user of this process. */
  readonly user: UnixUser | undefined;
}

export interface StartOptions extends RunnableCluster {
  /** Postgres writes its log here. This process opens it, because the user of Postgres may not reach it. */
  readonly logFile: string;
  /** Override those fitted to the machine. */
  readonly settings: PostgresSettings;
}

/** Postgres refuses a setting, or the machine cannot give what a setting asks for: every further try ends alike. */
export class RefusedSettingError extends Error {
  override readonly name = 'RefusedSettingError';
}

const REFUSED = /FATAL: +(?:.*parameter "|could not map anonymous shared memory)/;

const LOG_BYTES_MAX = 10 * 2 ** 20;
/** Of what Postgres wrote before it gave up, for the error. */
const LOG_TAIL_BYTES = 2_000;
const START_SECONDS_MAX = 10;

const pgCtl = (
  { dataDirectory, binaries, user }: RunnableCluster,
  args: readonly string[],
  log?: number,
): Promise<string> =>
  // Given as an argument, pg_ctl would put it into a shell's command between double quotes.
  runProgram({ path: binaries.pgCtl, args, user, output: log, environment: { PGDATA: dataDirectory } });

const quoted = (word: string): string => `'${word.replaceAll("'", `'\\''`)}'`;

/**
 * Starts Postgres in its own session: a Ctrl-C in this terminal does not reach it, and it outlives this process.
 * @returns when Postgres accepts connections
 * @throws RefusedSettingError, or Error when it does not within 10 s, e.g. because another one runs already; both with the
 *   end of its log
 */
export const startPostgres = async (options: StartOptions, port: number): Promise<void> => {
  const { dataDirectory, logFile } = options;
  await endOrphans(dataDirectory);
  await discardStaleFile(dataDirectory);
  const settings = { ...(await fittedSettings(dataDirectory)), ...options.settings, port: String(port) };
  const words = Object.entries(settings).map(([name, value]) => `-c ${quoted(`${name}=${value}`)}`);
  // On its command line, too, by which it is found again.
  words.push(`-D ${quoted(dataDirectory)}`);
  const log = await openLog(logFile);
  const { size } = await log.stat();
  try {
    await pgCtl(options, ['start', '-t', String(START_SECONDS_MAX), '-o', words.join(' ')], log.fd);
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

/** Node's own graceful stop has 10 s in all. */
const STOP_SECONDS_MAX = { fast: 6, immediate: 2 };

/**
 * Stops Postgres: cleanly, or if that takes too long as in a crash, which loses nothing committed. `pg_ctl status` does not
 * say enough: in a stale file it takes whatever process got the number of the dead one for Postgres.
 * @throws Error when it runs even then
 */
export const stopPostgres = async (cluster: RunnableCluster): Promise<void> => {
  const stop = async (mode: keyof typeof STOP_SECONDS_MAX): Promise<void> => {
    const found = await findPostmaster(cluster.dataDirectory);
    if (found === undefined) return;
    // One that was paused would take the signal to stop only when it goes on.
    resume(found.pid);
    await pgCtl(cluster, ['stop', '-m', mode, '-t', String(STOP_SECONDS_MAX[mode])]);
  };
  await stop('fast').catch(() => stop('immediate'));
};
