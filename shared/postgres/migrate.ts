import type { Knex } from 'knex';
import { Client, type Pool } from 'pg';
import { advisoryLocks } from './advisory-locks.ts';
import { connectionProblem } from './connection-problem.ts';
import { SYSTEM_ACCESS } from './isolate-tenants.ts';

export interface Migration {
  /** Never rename it. */
  readonly name: string;
  up(knex: Knex): Promise<void>;
}

export class ForeignSchemaError extends Error {
  override readonly name = 'ForeignSchemaError';
}

const CONNECT_MS_MAX = 5_000;
const WAIT_MS_MAX = 60_000;

/**
 * Several nodes may call it at once. @throws UnreachableDatabaseError, RefusedLoginError, ForeignSchemaError
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

const refuseOtherSchema = (done: ReadonlySet<string>, [first]: readonly Migration[]): void => {
  if (done.size === 0 || first === undefined || done.has(first.name)) return;
  throw new ForeignSchemaError(
    'The database was made by version 0.1.0, which this version cannot read: continue with 0.1.0, or use an ' +
      'empty database (an empty DATA_DIR, or another DATABASE_URL)',
  );
};

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

// `isFirst`: the database is unused, so one transaction for all migrations blocks no client.
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
