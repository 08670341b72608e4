import { afterEach, beforeEach, expect, it } from '@jest/globals';
import type { Knex } from 'knex';
import { Client } from 'pg';
import { migrations } from '../../src/migrations/index.ts';
import { migrate } from '../../src/shared/postgres/migrate.ts';
import { createEmptyDatabase, type TestDatabase } from '../support/test-database.ts';
import { until } from '../support/toy-projection.ts';

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

it('each migration is a transaction: what is done stays when a later one fails, and holds no locks for it', async () => {
  const failing = {
    name: 'second',
    up: async (knex: Knex): Promise<void> => {
      await knex.raw('create table second (n int)');
      // The first one is there for everybody, and nothing is locked.
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

it('a database that nobody uses yet gets all of them or none', async () => {
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

it('what is done in steps can be done again, by whoever comes after a process that was killed', async () => {
  await migrate(database.url, migrations);
  const indexes = async () =>
    (await client.query("select indexdef from pg_indexes where schemaname = 'public' order by 1")).rows;
  const before = await indexes();
  const stepwise = migrations.filter(({ isStepwise }) => isStepwise === true).map(({ name }) => name);
  expect(stepwise).not.toEqual([]);
  await client.query('delete from knex_migrations where name = any($1)', [stepwise]);
  expect(await migrate(database.url, migrations)).toEqual(stepwise);
  expect(await indexes()).toEqual(before);
});

it.each(['0041-causes-in-log-order', '0046-last-entry-of-a-stream'])(
  '%s and a projector that has looked at the table, and then writes to it, do not wait for each other',
  async (name) => {
    const end = migrations.findIndex((one) => one.name === name) + 1;
    await migrate(database.url, migrations.slice(0, end - 1));
    await client.query('begin');
    await client.query('select from audit_entries limit 1');
    const migrated = migrate(database.url, migrations.slice(0, end));
    await until(async () => {
      const { rows } = await client.query(
        "select from pg_locks where relation = 'audit_entries'::regclass and not granted",
      );
      return rows.length > 0;
    });
    await client.query(
      `insert into audit_entries (customer_id, occurred_at, position, stream, revision, event_id, type,
         resource_type, actor, request_id, correlation_id, causation_id)
       values (1, now(), '1', 's', 0, gen_random_uuid(), 'T', 'K', 'a', 'r', 'r', 'r')`,
    );
    await client.query('commit');
    expect(await migrated).toEqual([name]);
  },
);
