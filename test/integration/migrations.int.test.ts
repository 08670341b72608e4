import { createHash } from 'node:crypto';
import { afterEach, beforeEach, expect, it } from '@jest/globals';
import createKnex, { type Knex } from 'knex';
import { Client } from 'pg';
import { migrations } from '../../migrations/index.ts';
import { requestRights } from '../../migrations/request-rights.ts';
import { ForeignSchemaError, migrate } from '../../shared/postgres/migrate.ts';
import { continuedReleases, readReleased, writeAtRelease } from '../support/releases.ts';
import { createEmptyDatabase, type TestDatabase } from '../support/test-database.ts';

let database: TestDatabase;
let client: Client;
beforeEach(async () => {
  database = await createEmptyDatabase();
  client = new Client({ connectionString: database.url });
  await client.connect();
});
afterEach(async () => {
  await client.end();
  await database.drop();
});

const creates = (table: string) => ({
  name: table,
  up: async (knex: Knex): Promise<void> => {
    await knex.raw(`create table ${table} (n int)`);
  },
});

/** A digest of each migration's SQL, by name: comments and the form of the source may change. */
const digests = async (): Promise<readonly (readonly [name: string, digest: string])[]> => {
  const knex = createKnex({ client: 'pg', connection: database.url, pool: { min: 0, max: 1 } });
  let statements: unknown[] = [];
  knex.on('query', ({ sql, bindings }: Knex.Sql) => void statements.push([sql, bindings]));
  const found: [string, string][] = [];
  for (const { name, up } of migrations) {
    statements = [];
    await up(knex);
    expect(statements).not.toEqual([]);
    found.push([name, createHash('sha256').update(JSON.stringify(statements)).digest('hex')]);
  }
  await knex.destroy();
  return found;
};

it('the migrations of each release are what they were, in the same order, before all others', async () => {
  const today = await digests();
  writeAtRelease('migrations.json', () => JSON.stringify(Object.fromEntries(today), null, 1));
  for (const { version } of continuedReleases) {
    const released = Object.entries(readReleased(version, 'migrations.json') as object);
    expect(released.length).toBeGreaterThan(20);
    expect(today.slice(0, released.length)).toEqual(released);
  }
});

it('each migration is a transaction: earlier ones stay if a later one fails, and hold no locks', async () => {
  const failing = {
    name: 'second',
    up: async (knex: Knex): Promise<void> => {
      await knex.raw('create table second (n int)');
      // The first table is committed, and not locked.
      await client.query('lock table first in access exclusive mode nowait');
      throw new Error('no further');
    },
  };
  const base = creates('base');
  expect(await migrate(database.url, [base])).toEqual(['base']);
  await client.query('begin');
  await expect(migrate(database.url, [base, creates('first'), failing])).rejects.toThrow('no further');
  await client.query('commit');
  const all = [base, creates('first'), creates('second'), creates('third')];
  expect(await migrate(database.url, all)).toEqual(['second', 'third']);
  expect(await migrate(database.url, all)).toEqual([]);
});

it('an unused database gets all of them or none', async () => {
  const failing = {
    name: 'second',
    up: async (): Promise<void> => {
      throw new Error('no further');
    },
  };
  await expect(migrate(database.url, [creates('first'), failing])).rejects.toThrow('no further');
  const both = [creates('first'), creates('second')];
  expect(await migrate(database.url, both)).toEqual(['first', 'second']);
});

it('a database of version 0.1.0 is refused in one sentence, and not changed', async () => {
  await migrate(database.url, [{ ...creates('events'), name: '0001-event-log' }]);
  await expect(migrate(database.url, migrations)).rejects.toThrow(
    new ForeignSchemaError(
      'The database was made by version 0.1.0, which this version cannot read: continue with 0.1.0, or use an ' +
        'empty database (an empty DATA_DIR, or another DATABASE_URL)',
    ),
  );
  const { rows } = await client.query(
    "select tablename from pg_tables where schemaname = 'public' order by 1",
  );
  expect(rows.map(({ tablename }) => tablename as unknown)).toEqual([
    'events',
    'knex_migrations',
    'knex_migrations_lock',
  ]);
});

it('every tenant table shows requests only the rows of their account', async () => {
  await migrate(database.url, migrations);
  const { rows } = await client.query<{ table: string }>(
    `select c.relname as table from pg_class c
     where c.relkind in ('r', 'p', 'v', 'm', 'f') and c.relnamespace = 'public'::regnamespace and not c.relrowsecurity
       and (c.relname = any($1)
         or exists (select from pg_attribute a where a.attrelid = c.oid and a.attname = 'customer_id'))
     order by 1`,
    [requestRights.readable],
  );
  // Positions are not tenant data (`migrations/request-rights.ts`). Requests cannot read the secrets.
  expect(rows.map(({ table }) => table)).toEqual([
    'account_positions',
    'conversion_positions',
    'projection_checkpoints',
    'secrets',
  ]);
});

it('no other policy widens what a request sees of a tenant table', async () => {
  await migrate(database.url, migrations);
  const { rows } = await client.query<{ table: string; policy: string }>(
    `select tablename as table, policyname as policy from pg_policies
     where schemaname = 'public' and not (policyname = 'tenant' and qual = '(customer_id = current_customer_id())')
     order by 1, 2`,
  );
  expect(rows).toEqual([
    { table: 'creative_submissions', policy: 'seller' },
    { table: 'sellers', policy: 'all_accounts' },
  ]);
});
