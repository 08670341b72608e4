import {
  assertSchemaCompatibility,
  createPostgresBackend,
  LATEST_SCHEMA_VERSION,
  runMigrations,
  SchemaMigrationRequiredError,
  type BackendFactory,
  type IQueueBackend,
} from 'bullmq';
import type { Pool, PoolClient } from 'pg';
import type { Logger } from 'pino';
import { createPool } from '../postgres/pool.ts';
import { databaseClock } from './database-clock.ts';
import type { JobBackend } from './job-backend.ts';

/** BullMQ's schema: the only one that it uses with a pool that is handed to it. */
const SCHEMA = 'bullmq';

/**
 * BullMQ adds in bulk by way of two temporary tables, which it makes anew each time: 3 ms, and 9 ms on a busy server,
 * however few the jobs are. One by itself is added in 0.4 ms.
 */
const BULK_MIN = 8;

/** A worker's pool: one connection listens for jobs for as long as it runs, the others ask and answer. */
const CONNECTIONS_MAX = { add: 2, work: 4 } as const;

/**
 * Jobs in Postgres, on connections of their own. The pools are ours, because BullMQ's own have no deadlines and no
 * listener for the errors of connections that are handed out, of which one would end the process.
 */
export const openPostgresJobs = async (databaseUrl: string, log: Logger): Promise<JobBackend> => {
  const pools: Pool[] = [];
  const clock = databaseClock(log);
  const open = (max: number): Pool => {
    const pool = createPool(
      {
        connectionString: databaseUrl,
        applicationName: 'exchange-jobs',
        max,
        timeouts: { statementMs: 8_000, queryMs: 10_000, connectMs: 4_000 },
        searchPath: SCHEMA,
      },
      log,
    );
    pools.push(pool);
    return pool;
  };
  const close = async (): Promise<void> => {
    await Promise.all(pools.splice(0).map((pool) => pool.end()));
  };
  try {
    const client = await open(1).connect();
    try {
      await clock.compare(client);
      await prepareSchema(client);
    } finally {
      client.release();
    }
  } finally {
    await close();
  }
  return {
    kind: 'postgres',
    connect: (to) => clock.correct(open(CONNECTIONS_MAX[to])),
    bulkMin: BULK_MIN,
    factory: createPostgresBackend as BackendFactory<IQueueBackend, unknown>,
    get detail() {
      return { store: 'postgres', clockAheadMs: clock.aheadMs() };
    },
    close,
  };
};

/** Changes nothing where nothing has to change: its migration step locks a table that running workers read. */
const prepareSchema = async (client: PoolClient): Promise<void> => {
  const version = await assertSchemaCompatibility(client, SCHEMA).catch((error: unknown) => {
    if (error instanceof SchemaMigrationRequiredError) return 0;
    throw error;
  });
  if (version < LATEST_SCHEMA_VERSION) await runMigrations(client, SCHEMA);
};
