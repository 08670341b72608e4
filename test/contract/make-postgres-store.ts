import { pino } from 'pino';
import type { Pool } from 'pg';
import {
  createPostgresEventStore,
  type PostgresEventStore,
} from '../../shared/event-store/postgres/postgres-event-store.ts';
import { createPool } from '../../shared/postgres/pool.ts';
import { createTestDatabase, type TestDatabase } from '../support/test-database.ts';

export interface PostgresStoreUnderTest {
  readonly store: PostgresEventStore;
  readonly pool: Pool;
  readonly close: () => Promise<void>;
}

/** Opens a store with its own pool, as one process does. */
export const openPostgresStore = (
  url: string,
  options: { readonly announceEveryMs?: number } = {},
): PostgresStoreUnderTest => {
  const log = pino({ level: 'silent' });
  const pool = createPool({ connectionString: url, applicationName: 'exchange-test', max: 4 }, log);
  const store = createPostgresEventStore({ connectionString: url, pool, log, ...options });
  return {
    store,
    pool,
    close: async () => {
      await store.close();
      await pool.end();
    },
  };
};

export const makePostgresStore = async (): Promise<
  PostgresStoreUnderTest & { readonly database: TestDatabase; readonly dispose: () => Promise<void> }
> => {
  const database = await createTestDatabase();
  const opened = openPostgresStore(database.url);
  return {
    ...opened,
    database,
    dispose: async () => {
      await opened.close();
      await database.drop();
    },
  };
};
