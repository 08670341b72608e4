import { randomBytes } from 'node:crypto';
import { Client } from 'pg';
import { migrations } from '../../src/migrations/index.ts';
import { migrate } from '../../src/shared/postgres/migrate.ts';

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

const administer = async (sql: string): Promise<void> => {
  const client = new Client({ connectionString: adminUrl() });
  await client.connect();
  try {
    await client.query(sql);
  } finally {
    await client.end();
  }
};

/** A fresh, migrated database of a test file's own. */
export const createTestDatabase = async (): Promise<TestDatabase> => {
  const name = `test_${randomBytes(6).toString('hex')}`;
  await administer(`create database ${name}`);
  const url = new URL(adminUrl());
  url.pathname = `/${name}`;
  await migrate(url.href, migrations);
  return { url: url.href, drop: () => administer(`drop database if exists ${name} with (force)`) };
};
