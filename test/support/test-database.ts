import { randomBytes } from 'node:crypto';
import { Client, DatabaseError } from 'pg';
import { migrations } from '../../migrations/index.ts';
import { sleep } from '../../shared/async/backoff.ts';
import { migrate } from '../../shared/postgres/migrate.ts';

export interface TestDatabase {
  readonly url: string;
  drop(): Promise<void>;
}

/** The Postgres that `global-setup.ts` found (`DATABASE_URL`) or started (embedded). */
const adminUrl = (): string => {
  const url = process.env['TEST_POSTGRES_URL'] ?? process.env['DATABASE_URL'];
  if (url === undefined) throw new Error('no Postgres: run the tests through `npm test`');
  return url;
};

const administer = async (sql: string, connectionString = adminUrl()): Promise<void> => {
  const client = new Client({ connectionString });
  await client.connect();
  try {
    await client.query(sql);
  } finally {
    await client.end();
  }
};

/** A new migrated database for one test file: a copy of the run's template, if there is one. */
export const createTestDatabase = async (): Promise<TestDatabase> => {
  const template = process.env['TEST_POSTGRES_TEMPLATE'];
  if (template === undefined) return createMigrated();
  const name = newName();
  await administer(`create database ${name} template ${template}`);
  return { url: urlOf(name), drop: () => drop(name) };
};

/** Migrates one database for all tests of a run: copying it takes a tenth of the time. */
export const createTemplate = async (): Promise<void> => {
  const { url } = await createMigrated();
  process.env['TEST_POSTGRES_TEMPLATE'] = new URL(url).pathname.slice(1);
};

export const dropTemplate = async (): Promise<void> => {
  const template = process.env['TEST_POSTGRES_TEMPLATE'];
  if (template !== undefined) await drop(template);
};

const newName = (): string => `test_${randomBytes(6).toString('hex')}`;

const urlOf = (name: string): string => {
  const url = new URL(adminUrl());
  url.pathname = `/${name}`;
  return url.href;
};

const createMigrated = async (): Promise<TestDatabase> => {
  const database = await createEmptyDatabase();
  await migrate(database.url, migrations);
  return database;
};

/** A new database without a schema. */
export const createEmptyDatabase = async (): Promise<TestDatabase> => {
  const name = newName();
  await administer(`create database ${name}`);
  return { url: urlOf(name), drop: () => drop(name) };
};

/**
 * The same with a new role as its owner, as `deploy/create-database.sh` makes it: it may not use the role of requests, so
 * that row policies are forced on it.
 */
export const createOwnedDatabase = async (): Promise<TestDatabase> => {
  const admin = process.env['TEST_POSTGRES_ADMIN_URL'] ?? adminUrl();
  const name = newName();
  await administer(`create role ${name} login password 'secret'`, admin);
  await administer(`create database ${name} owner ${name}`, admin);
  const url = new URL(urlOf(name));
  [url.username, url.password] = [name, 'secret'];
  return {
    url: url.href,
    drop: async () => {
      await administer(`drop database ${name} with (force)`, admin);
      await administer(`drop role ${name}`, admin);
    },
  };
};

/** `insufficient_privilege`: autovacuum is using the database, and only a superuser may end it. */
const AUTOVACUUM_AT_WORK = '42501';

const drop = async (name: string, tries = 50): Promise<void> => {
  try {
    await administer(`drop database if exists ${name} with (force)`);
  } catch (error) {
    if (!(error instanceof DatabaseError) || error.code !== AUTOVACUUM_AT_WORK || tries === 1) throw error;
    await sleep(200);
    await drop(name, tries - 1);
  }
};
