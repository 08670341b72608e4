import type { Pool } from 'pg';
import { migrations } from './migrations/index.ts';
import type { Config } from './shared/config.ts';
import type { EventStore } from './shared/event-store/event-store.ts';
import { createPostgresEventStore } from './shared/event-store/postgres/postgres-event-store.ts';
import type { Logger } from './shared/log.ts';
import { startEmbeddedPostgres } from './shared/postgres/embedded/embedded-postgres.ts';
import {
  isolateTenants,
  provideRequestRole,
  type TenantIsolation,
} from './shared/postgres/isolate-tenants.ts';
import { migrate } from './shared/postgres/migrate.ts';
import { createPool } from './shared/postgres/pool.ts';
import { createRequestPool } from './shared/postgres/tenant-database.ts';

/** What every program of this package stands on: one database, one pool, one log of events. */
export interface Backbone {
  readonly databaseUrl: string;
  /** With the rights of the installation, across accounts. Not for reads that a request asks for. */
  readonly pool: Pool;
  /** For requests: each connection is bound by the policies, see `createTenantDatabase`. */
  readonly requestPool: Pool;
  readonly store: EventStore;
  /** Brings the schema up to date, and what keeps accounts apart. */
  migrate(): Promise<void>;
  close(): Promise<void>;
}

/** Look-ups of credentials (two at once), streams and ids; most of what asks here is asked together. */
const SYSTEM_CONNECTIONS_MAX = 5;

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
    {
      connectionString: databaseUrl,
      applicationName,
      max: SYSTEM_CONNECTIONS_MAX,
      system: true,
      planOnce: true,
    },
    log,
  );
  let isolation: TenantIsolation | undefined;
  const requestPool = createRequestPool(
    {
      connectionString: databaseUrl,
      applicationName: `${applicationName}-requests`,
      max: config.DATABASE_POOL_MAX,
    },
    () => isolation,
    log,
  );
  const store = createPostgresEventStore({ connectionString: databaseUrl, pool, log });
  return {
    databaseUrl,
    pool,
    requestPool,
    store,
    migrate: async () => {
      const names = await migrate(databaseUrl, migrations);
      if (embedded !== undefined) await provideRequestRole(embedded);
      isolation = await isolateTenants(databaseUrl);
      if (names.length > 0) log.info({ migrations: names }, 'database migrated');
    },
    close: async () => {
      await store.close();
      await Promise.all([pool.end(), requestPool.end()]);
      await embedded?.stop();
    },
  };
};
