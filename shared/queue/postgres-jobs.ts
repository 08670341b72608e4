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
import { systemClock, type Clock } from '../async/clock.ts';
import type { Logger } from 'pino';
import { createPool } from '../postgres/pool.ts';
import type { JobBackend } from './job-backend.ts';

/** The only schema that BullMQ uses with a pool that it did not create. */
const SCHEMA = 'bullmq';

/** In bulk, BullMQ creates two temporary tables: 3 ms, 9 ms on a busy server. A single job takes 0.4 ms. */
const BULK_MIN = 8;

/** Each worker listens for jobs on one connection for as long as it runs: ten do, and the others share the rest. */
const CONNECTIONS_MAX = { add: 2, work: 12 } as const;

/** An error in BullMQ's own pools would end the process. @throws Error when the clocks differ */
export const openPostgresJobs = async (
  databaseUrl: string,
  log: Logger,
  clock: Clock = systemClock,
): Promise<JobBackend> => {
  const pools = new Map<string, Pool>();
  const open = (use: keyof typeof CONNECTIONS_MAX): Pool => {
    const known = pools.get(use);
    if (known !== undefined) return known;
    const pool = createPool(
      {
        connectionString: databaseUrl,
        applicationName: 'exchange-jobs',
        max: CONNECTIONS_MAX[use],
        timeouts: { statementMs: 8_000, queryMs: 10_000, connectMs: 4_000 },
        searchPath: SCHEMA,
      },
      log,
    );
    // Each queue and each worker listens for its errors.
    pool.setMaxListeners(0);
    pools.set(use, pool);
    return pool;
  };
  const close = async (): Promise<void> => {
    const opened = [...pools.values()];
    pools.clear();
    await Promise.all(opened.map((pool) => pool.end()));
  };
  try {
    const client = await open('add').connect();
    try {
      await refuseOtherTime(client, clock, log);
      await prepareSchema(client);
    } finally {
      client.release();
    }
  } finally {
    await close();
  }
  return {
    kind: 'postgres',
    connect: open,
    bulkMin: BULK_MIN,
    factory: createPostgresBackend as BackendFactory<IQueueBackend, unknown>,
    detail: { store: 'postgres' },
    close,
  };
};

const CLOCK_MS_MAX = 2_500;
const CLOCK_MS_NOTED = 1_000;

// BullMQ compares locks with the worker's clock: a worker minutes ahead would take the jobs of others, and if
// it dies, none would take over its jobs.
const refuseOtherTime = async (client: PoolClient, clock: Clock, log: Logger): Promise<void> => {
  const before = clock.now();
  const { rows } = await client.query<{ now: number }>(
    'select (extract(epoch from clock_timestamp()) * 1000)::float8 as now',
  );
  const after = clock.now();
  const aheadMs = Math.round((before + after) / 2 - (rows[0]?.now ?? 0));
  const offMs = Math.abs(aheadMs) - (after - before) / 2;
  if (offMs > CLOCK_MS_MAX) {
    throw new Error(
      `this machine's clock is ${aheadMs} ms ahead of the database's: no jobs are run here until they agree`,
    );
  }
  if (offMs > CLOCK_MS_NOTED) log.warn({ aheadMs }, "this machine's clock is not the database's: correct it");
};

/** BullMQ's migration step locks a table that running workers read. */
const prepareSchema = async (client: PoolClient): Promise<void> => {
  const version = await assertSchemaCompatibility(client, SCHEMA).catch((error: unknown) => {
    if (error instanceof SchemaMigrationRequiredError) return 0;
    throw error;
  });
  if (version < LATEST_SCHEMA_VERSION) await runMigrations(client, SCHEMA);
};
