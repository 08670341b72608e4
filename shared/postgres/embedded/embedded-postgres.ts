import { resolve, join } from 'node:path';
import { backoffMs, sleep } from '../../async/backoff.ts';
import type { Logger } from 'pino';
import { attach, type AttachOptions, type Attachment } from './attach.ts';
import { locateBinaries } from './binaries.ts';
import { ensureCluster } from './cluster.ts';
import type { PostgresSettings } from './settings.ts';
import { unprivilegedUser } from './unprivileged-user.ts';

/** All processes with the same data folder share it. Containers must not: each has its own process ids. */
export interface EmbeddedPostgres {
  /** For the role `exchange`, which owns the database and is not a superuser. */
  readonly url: string;
  readonly adminUrl: string;
  /** Stops Postgres if no other process uses it. */
  stop(): Promise<void>;
}

export interface EmbeddedPostgresOptions {
  readonly dataDir: string;
  readonly log: Logger;
  readonly settings?: PostgresSettings;
}

const RESTART_BACKOFF = { baseMs: 100, capMs: 2_000 };

export const startEmbeddedPostgres = async (options: EmbeddedPostgresOptions): Promise<EmbeddedPostgres> => {
  const dataDir = resolve(options.dataDir);
  const user = await unprivilegedUser();
  const binaries = await locateBinaries(user);
  const { dataDirectory, secrets } = await ensureCluster({ dataDir, binaries, user, log: options.log });
  const adminUrl = (port: number): string =>
    `postgres://postgres:${secrets.adminPassword}@127.0.0.1:${port}/postgres`;
  const logFile = join(dataDir, 'postgres.log');
  const settings = options.settings ?? {};
  const attachOptions = { dataDirectory, binaries, user, logFile, settings, adminUrl };
  const first = await attach(attachOptions, undefined);
  const { port } = first;
  options.log.info({ port, dataDirectory }, 'embedded Postgres is running');
  return {
    url: `postgres://exchange:${secrets.runtimePassword}@127.0.0.1:${port}/exchange`,
    adminUrl: adminUrl(port),
    ...supervise(attachOptions, first, options.log),
  };
};

const supervise = (
  options: AttachOptions,
  first: Attachment,
  log: Logger,
): Pick<EmbeddedPostgres, 'stop'> => {
  const { port } = first;
  const stopping = new AbortController();
  let { usage } = first;
  let recovery = Promise.resolve();

  const watch = (): void => {
    const watched = usage;
    void watched.lost.then(() => {
      if (stopping.signal.aborted || watched !== usage) return;
      log.warn('connection to the embedded Postgres lost');
      recovery = recover();
    });
  };

  const recover = async (): Promise<void> => {
    for (let attempt = 1; !stopping.signal.aborted; attempt += 1) {
      try {
        const attachment = await attach(options, port, stopping.signal);
        if (stopping.signal.aborted) return void (await attachment.usage.end());
        ({ usage } = attachment);
        watch();
        return log.info({ port, attempt }, 'embedded Postgres is running again');
      } catch (error) {
        if (stopping.signal.aborted) return;
        const waitMs = Math.round(RESTART_BACKOFF.baseMs / 2 + backoffMs(attempt, RESTART_BACKOFF));
        log.error({ err: error, attempt, waitMs }, 'embedded Postgres cannot be restarted');
        await sleep(waitMs, stopping.signal);
      }
    }
  };

  watch();
  return {
    stop: async () => {
      if (stopping.signal.aborted) return;
      stopping.abort();
      await recovery;
      const isStopped = await usage.end().catch((error: unknown) => {
        log.warn({ err: error }, 'embedded Postgres was not stopped');
        return false;
      });
      if (isStopped) log.info('embedded Postgres stopped');
    },
  };
};
