import { randomBytes } from 'node:crypto';
import { readFile, rename, rm, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { systemClock } from '../../async/clock.ts';
import { existsProcess, isPostmasterOf } from './processes.ts';

export interface Postmaster {
  readonly pid: number;
  readonly port: number;
  readonly status: 'starting' | 'ready' | 'stopping';
}

const fileOf = (dataDirectory: string): string => join(dataDirectory, 'postmaster.pid');

/** An incomplete file that is older is not being written. */
const TORN_AFTER_MS = 2_000;

/** Lines: pid, data directory, start time, port, socket directory, address, shared memory, status. */
const parse = (content: string): Postmaster | undefined => {
  const lines = content.split('\n').map((line) => line.trim());
  const pid = Number(lines[0]);
  const port = Number(lines[3]);
  if (!(pid > 0) || !(port > 0)) return undefined;
  const status = lines[7] ?? '';
  return { pid, port, status: status === 'ready' || status === 'stopping' ? status : 'starting' };
};

const read = (dataDirectory: string): Promise<string | undefined> =>
  readFile(fileOf(dataDirectory), 'utf8').catch((error: NodeJS.ErrnoException) => {
    if (error.code === 'ENOENT') return undefined;
    throw error;
  });

export const findPostmaster = async (dataDirectory: string): Promise<Postmaster | undefined> => {
  const found = parse((await read(dataDirectory)) ?? '');
  return found !== undefined && (await isPostmasterOf(found.pid, dataDirectory)) ? found : undefined;
};

/** If the last postmaster did not remove its file, e.g. after a crash. */
export const lastPort = async (dataDirectory: string): Promise<number | undefined> =>
  parse((await read(dataDirectory)) ?? '')?.port;

/**
 * Removes the file if its pid belongs to another program, or if a crash left it incomplete. Postgres replaces
 * all other stale files itself.
 */
export const discardStaleFile = async (dataDirectory: string): Promise<void> => {
  const content = await read(dataDirectory);
  if (content === undefined) return;
  const found = parse(content);
  const isStale =
    found === undefined
      ? await isOld(fileOf(dataDirectory))
      : existsProcess(found.pid) && !(await isPostmasterOf(found.pid, dataDirectory));
  if (!isStale) return;
  const aside = `${fileOf(dataDirectory)}.${randomBytes(6).toString('base64url')}`;
  await rename(fileOf(dataDirectory), aside);
  // Another process may have removed the same file and started Postgres since the read: restore its file.
  if ((await readFile(aside, 'utf8')) === content) await rm(aside, { force: true });
  else await rename(aside, fileOf(dataDirectory));
};

const isOld = async (path: string): Promise<boolean> => {
  const stats = await stat(path).catch(() => undefined);
  return stats !== undefined && systemClock.now() - stats.mtimeMs > TORN_AFTER_MS;
};
