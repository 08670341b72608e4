import type { Knex } from 'knex';
import { Client } from 'pg';
import { advisoryLocks } from './advisory-locks.ts';
import { SYSTEM_ACCESS } from './isolate-tenants.ts';

export interface Migration {
  /** Unique, never renamed. */
  readonly name: string;
  up(knex: Knex): Promise<void>;
}

/** The schema was made by another line of migrations; the message says what the operator can do. */
export class ForeignSchemaError extends Error {
  override readonly name = 'ForeignSchemaError';
}

const CONNECT_MS_MAX = 5_000;
/** Longest wait for another node's migration; then the caller starts again. */
const WAIT_MS_MAX = 60_000;

/**
 * Brings the database's schema up to date. Safe when several nodes start at once and when one was killed in
 * the middle: an advisory lock, released by Postgres with its connection, is the only lock that counts.
 * @returns the names of the migrations that were run
 * @throws ForeignSchemaError for a database that another line of migrations has made
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
  await guard.connect();
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

/** A schema that does not begin with our first migration cannot become ours. */
const refuseOtherSchema = (done: ReadonlySet<string>, [first]: readonly Migration[]): void => {
  if (done.size === 0 || first === undefined || done.has(first.name)) return;
  throw new ForeignSchemaError(
    'The database was made by version 0.1.0, which this version cannot read: go on with 0.1.0, or begin with an ' +
      'empty database (an empty DATA_DIR, or another DATABASE_URL)',
  );
};

const namesDone = async (client: Client): Promise<ReadonlySet<string>> => {
  const table = await client.query<{ present: boolean }>(
    `select to_regclass('knex_migrations') is not null as present`,
  );
  if (table.rows[0]?.present !== true) return new Set();
  const done = await client.query<{ name: string }>('select name from knex_migrations');
  return new Set(done.rows.map((row) => row.name));
};

/**
 * knex is loaded only here: an up-to-date start does not pay for it.
 * @param isFirst nobody uses the database yet: one transaction for all is the quickest then, and in nobody's way
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
    // knex's own lock is a row, and a killed migrator leaves it behind. Ours is held, so nobody else migrates.
    await knex.migrate.forceFreeMigrationsLock({ migrationSource });
    const names: string[] = [];
    for (;;) {
      // One after the other: `latest` would keep the locks of all of them to the end of the last one.
      const run = isFirst ? knex.migrate.latest({ migrationSource }) : knex.migrate.up({ migrationSource });
      const [, done] = (await run) as [number, string[]];
      names.push(...done);
      if (isFirst || done.length === 0) return names;
    }
  } finally {
    await knex.destroy();
  }
};
