import { spawn, type ChildProcess } from 'node:child_process';
import { open, rename, stat } from 'node:fs/promises';
import { sleep } from '../../backoff.ts';
import type { Binaries } from './binaries.ts';
import { discardStaleFile, findPostmaster } from './postmaster-file.ts';
import { isAlive, orphanedBackends, waitForExit } from './processes.ts';
import { programEnvironment } from './run-program.ts';
import { fittedSettings, type PostgresSettings } from './settings.ts';
import type { UnixUser } from './unprivileged-user.ts';

export interface LaunchOptions {
  readonly dataDirectory: string;
  readonly binaries: Binaries;
  readonly user: UnixUser | undefined;
  /** Of Postgres' own log; opened by us, as its user may not be able to. */
  readonly logFile: string;
  /** Over those fitted to the machine. */
  readonly settings: PostgresSettings;
}

const LOG_BYTES_MAX = 10 * 2 ** 20;
/** Of what Postgres wrote before it gave up, for the error. */
const LOG_TAIL_BYTES = 2_000;
const POLL_MS = 10;
const LAUNCH_MS_MAX = 10_000;

/**
 * Starts Postgres in a session of its own: a Ctrl-C in our terminal is not meant for it, and it outlives us
 * if we are killed. Resolves when it is ready, or after 10 s if it is still starting then.
 * @throws Error with the end of its log when it gives up, e.g. because another one runs already
 */
export const launchPostmaster = async (options: LaunchOptions, port: number): Promise<void> => {
  const { dataDirectory, binaries, user } = options;
  await endOrphans(dataDirectory);
  await discardStaleFile(dataDirectory);
  const settings = { ...(await fittedSettings(dataDirectory)), ...options.settings, port: String(port) };
  const args = Object.entries(settings).flatMap(([name, value]) => ['-c', `${name}=${value}`]);
  const log = await openLog(options.logFile);
  try {
    const logStart = (await log.stat()).size;
    const child = spawn(binaries.postgres, ['-D', dataDirectory, ...args], {
      env: programEnvironment,
      cwd: '/',
      detached: true,
      stdio: ['ignore', log.fd, log.fd],
      ...(user && { uid: user.uid, gid: user.gid }),
    });
    child.unref();
    const ending = await endingBefore(child, async () => {
      const found = await findPostmaster(dataDirectory);
      return found?.pid === child.pid && found?.status === 'ready';
    });
    if (ending instanceof Error) throw ending;
    if (ending === undefined) return;
    throw new Error(`Postgres ended (${ending}): ${await tailOf(options.logFile, logStart)}`);
  } finally {
    await log.close();
  }
};

/** @returns how the child ended, or undefined when `isReady` came first, or time ran out */
const endingBefore = async (
  child: ChildProcess,
  isReady: () => Promise<boolean>,
): Promise<Error | number | string | undefined> => {
  let ending: Error | number | string | undefined;
  child.once('error', (error) => (ending = error));
  child.once('exit', (code, signal) => (ending = code ?? signal ?? 'unknown'));
  const deadline = performance.now() + LAUNCH_MS_MAX;
  while (ending === undefined && performance.now() < deadline && !(await isReady())) await sleep(POLL_MS);
  return ending;
};

const openLog = async (path: string) => {
  const size = (await stat(path).catch(() => undefined))?.size ?? 0;
  if (size > LOG_BYTES_MAX) await rename(path, `${path}.1`);
  return open(path, 'a', 0o600);
};

const tailOf = async (path: string, from: number): Promise<string> => {
  const file = await open(path, 'r');
  try {
    const start = Math.max(from, (await file.stat()).size - LOG_TAIL_BYTES);
    const { buffer, bytesRead } = await file.read(Buffer.alloc(LOG_TAIL_BYTES), 0, LOG_TAIL_BYTES, start);
    return buffer.toString('utf8', 0, bytesRead).trim();
  } finally {
    await file.close();
  }
};

/** How long busy backends of a killed postmaster get to end themselves. */
const ORPHAN_GRACE_MS = 1_000;

/** Their work is lost with their postmaster, as in any crash; and while one lives, Postgres cannot start. */
const endOrphans = async (dataDirectory: string): Promise<void> => {
  for (const signal of ['SIGQUIT', 'SIGKILL'] as const) {
    const orphans = await orphanedBackends(dataDirectory);
    orphans.forEach((pid) => send(pid, signal));
    await Promise.all(orphans.map((pid) => waitForExit(pid, ORPHAN_GRACE_MS)));
  }
};

const send = (pid: number, signal: NodeJS.Signals): void => {
  try {
    process.kill(pid, signal);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ESRCH') throw error;
  }
};

/** Sessions are ended and everything is written out. Node's own graceful stop has 10 s in all. */
const FAST_STOP_MS = 6_000;
const IMMEDIATE_STOP_MS = 1_500;

/**
 * Stops Postgres: cleanly, or if that takes too long as in a crash, which loses nothing committed.
 * @throws Error when it outlives even that
 */
export const stopPostmaster = async (dataDirectory: string): Promise<void> => {
  const found = await findPostmaster(dataDirectory);
  if (found === undefined) return;
  send(found.pid, 'SIGINT');
  // If it was halted (Ctrl-Z, a debugger), it has to go on to end.
  send(found.pid, 'SIGCONT');
  if (await waitForExit(found.pid, FAST_STOP_MS)) return;
  send(found.pid, 'SIGQUIT');
  await waitForExit(found.pid, IMMEDIATE_STOP_MS);
  if (await isAlive(found.pid)) throw new Error(`Postgres (process ${found.pid}) does not stop`);
};
