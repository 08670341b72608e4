import type { Pool } from 'pg';
import { migrations } from './migrations/index.ts';
import type { Config } from './shared/config.ts';
import type { EventStore } from './shared/event-store/event-store.ts';
import { createPostgresEventStore } from './shared/event-store/postgres/postgres-event-store.ts';
import type { Logger } from './shared/log.ts';
import { startEmbeddedPostgres } from './shared/postgres/embedded/embedded-postgres.ts';
import { migrate } from './shared/postgres/migrate.ts';
import { createPool } from './shared/postgres/pool.ts';

/** What every program of this package stands on: one database, one pool, one log of events. */
export interface Backbone {
  readonly databaseUrl: string;
  readonly pool: Pool;
  readonly store: EventStore;
  /** Brings the schema up to date. */
  migrate(): Promise<void>;
  close(): Promise<void>;
}

/** Opens connections lazily: with an external database that is away, this succeeds and its users get 503. */
export const openBackbone = async (
  config: Config,
  applicationName: string,
  log: Logger,
): Promise<Backbone> => {
  const embedded =
    config.DATABASE_URL === undefined
      ? await startEmbeddedPostgres({ dataDir: config.DATA_DIR, log })
      : undefined;
  const databaseUrl = config.DATABASE_URL ?? embedded?.url ?? '';
  const pool = createPool(
    { connectionString: databaseUrl, applicationName, max: config.DATABASE_POOL_MAX },
    log,
  );
  const store = createPostgresEventStore({ connectionString: databaseUrl, pool, log });
  return {
    databaseUrl,
    pool,
    store,
    migrate: async () => {
      const names = await migrate(databaseUrl, migrations);
      if (names.length > 0) log.info({ migrations: names }, 'database migrated');
    },
    close: async () => {
      await store.close();
      await pool.end();
      await embedded?.stop();
    },
  };
};
