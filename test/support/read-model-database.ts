import { afterAll, beforeAll } from '@jest/globals';
import type { Pool } from 'pg';
import { migrations } from '../../migrations/index.ts';
import { createLog } from '../../app/log.ts';
import { migrate } from '../../shared/postgres/migrate.ts';
import { createPool } from '../../shared/postgres/pool.ts';
import type { TenantDatabase } from '../../shared/postgres/tenant-database.ts';
import { createTestDatabase, type TestDatabase } from './test-database.ts';

export interface ReadModelDatabase {
  /** Available from the first test on. */
  readonly pool: Pool;
  /** Reads without the row-security policies. */
  readonly tenant: TenantDatabase;
}

/** A migrated database for the tests of a file: read models without a service. */
export const useReadModelDatabase = (): ReadModelDatabase => {
  let database: TestDatabase;
  let pool: Pool;
  beforeAll(async () => {
    database = await createTestDatabase();
    await migrate(database.url, migrations);
    pool = createPool(
      { connectionString: database.url, applicationName: 'test', max: 3 },
      createLog('silent'),
    );
  });
  afterAll(async () => {
    await pool.end();
    await database.drop();
  });
  return {
    get pool() {
      return pool;
    },
    tenant: {
      query: async (_customerId, { name, text, values }) =>
        (await pool.query({ name, text, values: [...values] })).rows,
      queryEach: async () => [],
    },
  };
};
