import { randomBytes } from 'node:crypto';
import { chmod, mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Client } from 'pg';
import { createLog } from '../../app/log.ts';
import { startEmbeddedPostgres } from '../../shared/postgres/embedded/embedded-postgres.ts';
import { chosenSizes, type PostgresSettings } from '../../shared/postgres/embedded/settings.ts';

export interface BenchPostgres {
  readonly url: string;
  stop(): Promise<void>;
}

/** A temporary folder that the user who runs Postgres can enter. */
export const temporaryDataDir = async (): Promise<{ path: string; remove(): Promise<void> }> => {
  const folder = await mkdtemp(join(tmpdir(), 'exchange-bench-'));
  await chmod(folder, 0o711);
  // Retries, because Postgres may still be writing its last files.
  const remove = (): Promise<void> => rm(folder, { recursive: true, force: true, maxRetries: 10 });
  return { path: join(folder, 'data'), remove };
};

/** The sizes for which the goals hold. The default sizes suit a laptop. */
export const benchSizes = chosenSizes({ POSTGRES_BUFFERS_MB: 4_096, POSTGRES_WAL_MB: 8_192 });

/**
 * The Postgres of `DATABASE_URL`, or an embedded one with its data in a temporary folder.
 * @param sizes for the embedded one
 * @param plans settings that log query plans
 * @throws Error if plans are requested from the Postgres of `DATABASE_URL`: its log is not accessible
 */
export const openPostgres = async (
  sizes: PostgresSettings = benchSizes,
  plans: PostgresSettings = {},
): Promise<BenchPostgres> => {
  const given = process.env['DATABASE_URL'];
  if (given !== undefined && given !== '') {
    if (Object.keys(plans).length > 0)
      throw new Error("plans need the log of the benchmark's own Postgres: unset DATABASE_URL");
    return { url: given, stop: async () => undefined };
  }
  const dataDir = await temporaryDataDir();
  const embedded = await startEmbeddedPostgres({
    dataDir: dataDir.path,
    log: createLog('warn'),
    settings: { ...sizes, ...plans },
  });
  return {
    url: embedded.adminUrl,
    stop: async () => {
      await embedded.stop();
      await dataDir.remove();
    },
  };
};

/** Runs statements in order on its own connection, without the service's timeouts. */
export const runSql = async (url: string, ...statements: readonly string[]): Promise<unknown[]> => {
  const client = new Client({ connectionString: url });
  await client.connect();
  try {
    let rows: unknown[] = [];
    for (const statement of statements) ({ rows } = await client.query<Record<string, unknown>>(statement));
    return rows;
  } finally {
    await client.end();
  }
};

/** A database on the same server: empty, or a copy of the template. The template must have no connections. */
export const createBenchDatabase = async (
  serverUrl: string,
  templateUrl?: string,
): Promise<{ url: string; drop(): Promise<void> }> => {
  const name = `bench_${randomBytes(6).toString('hex')}`;
  const template = templateUrl === undefined ? '' : ` template ${new URL(templateUrl).pathname.slice(1)}`;
  await runSql(serverUrl, `create database ${name}${template}`);
  const url = new URL(serverUrl);
  url.pathname = `/${name}`;
  return {
    url: url.href,
    drop: async () => {
      await runSql(serverUrl, `drop database if exists ${name} with (force)`);
    },
  };
};
