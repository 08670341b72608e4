import type { Knex } from 'knex';
import { Client, type Pool } from 'pg';
import { advisoryLocks } from './advisory-locks.ts';
import { connectionProblem } from './connection-problem.ts';
import { SYSTEM_ACCESS } from './isolate-tenants.ts';

export interface Migration {
  /** Unique. Never rename it. */
  readonly name: string;
  up(knex: Knex): Promise<void>;
}

/** An incompatible version made the schema. The message names the operator's options. */
export class ForeignSchemaError extends Error {
  override readonly name = 'ForeignSchemaError';
}

const CONNECT_MS_MAX = 5_000;
/** Longest wait, in ms, for another node's migration. After that the call fails. */
const WAIT_MS_MAX = 60_000;

/**
 * Applies all pending migrations. Safe if several nodes start at once, or if one was killed during a migration: an
 * advisory lock serialises them, and Postgres releases it with the connection.
 * @returns the names of the applied migrations
 * @throws UnreachableDatabaseError, RefusedLoginError; ForeignSchemaError if an incompatible version made the schema
 */
export const migrate = async (
  connectionString: string,
  migrations: readonly Migration[],
): Promise<readonly string[]> => {
  const guard = new Client({
    connectionString,
    application_name: 'exchange-migrate',
    connectionTimeoutMillis: CONNECT_MS_MAX,
    query_timeout: WAIT_MS_MAX,
  });
  guard.on('error', () => undefined);
  await guard.connect().catch((error: unknown) => {
    throw connectionProblem(error, connectionString);
  });
  try {
    await guard.query('select pg_advisory_lock($1)', [advisoryLocks.migration]);
    const done = await namesDone(guard);
    if (migrations.every(({ name }) => done.has(name))) return [];
    refuseOtherSchema(done, migrations);
    return await runPending(connectionString, migrations, done.size === 0);
  } finally {
    await guard.end();
  }
};

/** A schema without this version's first migration cannot be migrated. */
const refuseOtherSchema = (done: ReadonlySet<string>, [first]: readonly Migration[]): void => {
  if (done.size === 0 || first === undefined || done.has(first.name)) return;
  throw new ForeignSchemaError(
    'The database was made by version 0.1.0, which this version cannot read: continue with 0.1.0, or use an ' +
      'empty database (an empty DATA_DIR, or another DATABASE_URL)',
  );
};

/** @returns the names of the migrations that `migrate` would apply */
export const pendingMigrations = async (
  pool: Pick<Pool, 'query'>,
  migrations: readonly Migration[],
): Promise<readonly string[]> => {
  const done = await namesDone(pool);
  return migrations.flatMap(({ name }) => (done.has(name) ? [] : [name]));
};

const namesDone = async (client: Pick<Pool, 'query'>): Promise<ReadonlySet<string>> => {
  const table = await client.query<{ present: boolean }>(
    `select to_regclass('knex_migrations') is not null as present`,
  );
  if (table.rows[0]?.present !== true) return new Set();
  const done = await client.query<{ name: string }>('select name from knex_migrations');
  return new Set(done.rows.map((row) => row.name));
};

/**
 * Loads knex only when a migration is pending.
 * @param isFirst the database is empty and unused, so one transaction for all migrations blocks no client
 */
const runPending = async (
  connectionString: string,
  migrations: readonly Migration[],
  isFirst: boolean,
): Promise<readonly string[]> => {
  const { default: createKnex } = await import('knex');
  const knex = createKnex({
    client: 'pg',
    connection: { connectionString, options: `-c ${SYSTEM_ACCESS}` },
    pool: { min: 0, max: 2 },
  });
  const migrationSource: Knex.MigrationSource<Migration> = {
    getMigrations: async () => [...migrations],
    getMigrationName: (migration) => migration.name,
    getMigration: async (migration) => ({ up: (k) => migration.up(k), down: async () => undefined }),
  };
  try {
    // knex's lock is a row that a killed process leaves behind. The advisory lock excludes others.
    await knex.migrate.forceFreeMigrationsLock({ migrationSource });
    const names: string[] = [];
    for (;;) {
      // One transaction each: `latest` would hold the locks of every migration until the last one ends.
      const run = isFirst ? knex.migrate.latest({ migrationSource }) : knex.migrate.up({ migrationSource });
      const [, done] = (await run) as [number, string[]];
      names.push(...done);
      if (isFirst || done.length === 0) return names;
    }
  } finally {
    await knex.destroy();
  }
};
