import { sleep } from '../../backoff.ts';
import { choosePort, isPortFree } from './port.ts';
import { findPostmaster, lastPort, type Postmaster } from './postmaster-file.ts';
import { launchPostmaster, type LaunchOptions } from './postmaster.ts';
import { ForeignServerError, openUsage, type Usage } from './usage.ts';

export interface AttachOptions extends LaunchOptions {
  /** The superuser's URL when Postgres listens at `port`. */
  readonly adminUrl: (port: number) => string;
}

export interface Attachment {
  readonly usage: Usage;
  readonly port: number;
}

/** Until Postgres answers. */
const ATTACH_MS_MAX = 60_000;
/** As long as Postgres says that it is starting: it replays its log, up to `max_wal_size`, after a crash. */
const RECOVERY_MS_MAX = 600_000;

/** The port that this process told its clients is not to be had; waiting may help. */
export class PortTakenError extends Error {
  override readonly name = 'PortTakenError';
}

/**
 * Joins the Postgres of the data directory, starting it if it does not run. Of several that start it at once
 * one succeeds, by Postgres' own lock on the directory, and the others join that one.
 * @param port it must listen at; undefined for any
 * @param signal gives up
 * @throws PortTakenError when another program is at `port`, or Postgres is at another one
 * @throws Error when Postgres does not come up
 */
export const attach = async (
  options: AttachOptions,
  port: number | undefined,
  signal?: AbortSignal,
): Promise<Attachment> => {
  const startMs = performance.now();
  let failure: unknown;
  for (let attempt = 1; ; attempt += 1) {
    if (signal?.aborted === true) throw new Error('told to stop', { cause: failure });
    const found = await findPostmaster(options.dataDirectory);
    const waitedMs = performance.now() - startMs;
    if (waitedMs > (found?.status === 'starting' ? RECOVERY_MS_MAX : ATTACH_MS_MAX)) {
      throw new Error('the embedded Postgres does not come up', { cause: failure });
    }
    try {
      if (found === undefined) await launch(options, port);
      else if (found.status === 'ready') {
        const usage = await join(options, found, port);
        if (usage !== undefined) return { usage, port: found.port };
      }
      await sleep(found === undefined ? 0 : 10);
    } catch (error) {
      if (error instanceof PortTakenError || error instanceof ForeignServerError || !isPassing(error))
        throw error;
      failure = error;
      await sleep(Math.min(25 * attempt, 500));
    }
  }
};

const launch = async (options: LaunchOptions, port: number | undefined): Promise<void> => {
  const { dataDirectory } = options;
  if (port === undefined) {
    return launchPostmaster(options, await choosePort(dataDirectory, await lastPort(dataDirectory)));
  }
  if (await isPortFree(port)) return launchPostmaster(options, port);
  // Another process that uses this Postgres may have been faster.
  if ((await findPostmaster(dataDirectory)) !== undefined) return undefined;
  throw new PortTakenError(`port ${port} of Postgres is taken by another program`);
};

const join = async (
  { adminUrl, dataDirectory }: AttachOptions,
  found: Postmaster,
  port: number | undefined,
): Promise<Usage | undefined> => {
  if (port !== undefined && found.port !== port) {
    throw new PortTakenError(`Postgres listens at port ${found.port} now, not ${port}: restart this process`);
  }
  return openUsage(adminUrl(found.port), dataDirectory);
};

/** What another try cannot mend: a wrong password, a program that cannot be run. */
const isPassing = (error: unknown): boolean => {
  const code = (error as { code?: string }).code ?? '';
  return !['28P01', '28000', 'ENOENT', 'EACCES', 'EPERM'].includes(code);
};
