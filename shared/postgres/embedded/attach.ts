import { sleep } from '../../async/backoff.ts';
import { RefusedSettingError, startPostgres, type StartOptions } from './pg-ctl.ts';
import { choosePort, isPortFree } from './port.ts';
import { findPostmaster, lastPort } from './postmaster-file.ts';
import { ForeignServerError, openUsage, type Usage } from './usage.ts';

export interface AttachOptions extends StartOptions {
  readonly adminUrl: (port: number) => string;
}

export interface Attachment {
  readonly usage: Usage;
  readonly port: number;
}

const ATTACH_MS_MAX = 60_000;
/** After a crash, Postgres replays up to `max_wal_size` of WAL. */
const RECOVERY_MS_MAX = 600_000;

/** A later attempt may succeed. */
export class PortTakenError extends Error {
  override readonly name = 'PortTakenError';
}

/**
 * If several processes start Postgres, its lock on the directory lets one succeed; the others join it.
 * @throws PortTakenError, RefusedSettingError; Error when Postgres does not become ready
 */
export const attach = async (
  options: AttachOptions,
  port: number | undefined,
  signal?: AbortSignal,
): Promise<Attachment> => {
  const { dataDirectory, adminUrl } = options;
  const startMs = performance.now();
  let failure: unknown;
  for (let attempt = 1; ; attempt += 1) {
    signal?.throwIfAborted();
    const found = await findPostmaster(dataDirectory);
    const waitedMs = performance.now() - startMs;
    if (waitedMs > (found?.status === 'starting' ? RECOVERY_MS_MAX : ATTACH_MS_MAX)) {
      throw new Error('the embedded Postgres does not become ready', { cause: failure });
    }
    try {
      if (found === undefined) await start(options, port);
      else if (port !== undefined && found.port !== port) {
        throw new PortTakenError(`Postgres listens at port ${found.port}, not ${port}: restart this process`);
      } else if (found.status === 'ready') {
        const usage = await openUsage(adminUrl(found.port), options);
        if (usage !== undefined) return { usage, port: found.port };
      }
      await sleep(found === undefined ? 0 : 10);
    } catch (error) {
      if (!mayPass(error)) throw error;
      failure = error;
      await sleep(Math.min(25 * attempt, 500));
    }
  }
};

const start = async (options: StartOptions, port: number | undefined): Promise<void> => {
  const { dataDirectory } = options;
  if (port === undefined || (await isPortFree(port))) {
    return startPostgres(options, port ?? (await choosePort(dataDirectory, await lastPort(dataDirectory))));
  }
  // Another process may have started it in the meantime.
  if ((await findPostmaster(dataDirectory)) !== undefined) return;
  throw new PortTakenError(`port ${port} of Postgres is in use by another program`);
};

const mayPass = (error: unknown): boolean => {
  const isFinal = [PortTakenError, ForeignServerError, RefusedSettingError].some(
    (kind) => error instanceof kind,
  );
  if (isFinal) return false;
  const { code = '' } = ((error as Error).cause ?? error) as { code?: string };
  return !['28P01', '28000', 'ENOENT', 'EACCES', 'EPERM'].includes(code);
};
