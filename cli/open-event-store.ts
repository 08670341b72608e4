import type { Pool } from 'pg';
import { isConversionStream } from '../domain/conversions/events.ts';
import { migrations } from '../migrations/index.ts';
import type { Config } from '../app/config.ts';
import type { EventStore } from '../shared/event-store/event-store.ts';
import { longCallLimits } from '../shared/event-store/eventstoredb/call-limits.ts';
import { createPostgresEventStore } from '../shared/event-store/postgres/postgres-event-store.ts';
import type { Logger } from 'pino';
import { startEmbeddedPostgres } from '../shared/postgres/embedded/embedded-postgres.ts';
import { chosenSizes } from '../shared/postgres/embedded/settings.ts';
import { migrate } from '../shared/postgres/migrate.ts';
import { createPool } from '../shared/postgres/pool.ts';
import { countServices } from '../shared/postgres/running-services.ts';

export interface OpenedEventStore {
  readonly store: EventStore;
  readonly pool?: Pool;
  /** Processes of the service that are connected to it now. Undefined where that cannot be known. */
  services(): Promise<number | undefined>;
  close(): Promise<void>;
}

export const EMBEDDED = 'embedded';

/** Creates a missing Postgres schema. @throws RangeError without the address, which may hold a password */
export const openEventStore = async (
  address: string,
  config: Pick<Config, 'DATA_DIR' | 'POSTGRES_BUFFERS_MB' | 'POSTGRES_WAL_MB'>,
  log: Logger,
): Promise<OpenedEventStore> => {
  const protocol = URL.canParse(address) ? new URL(address).protocol : address;
  switch (protocol) {
    case EMBEDDED: {
      const { DATA_DIR: dataDir } = config;
      const embedded = await startEmbeddedPostgres({ dataDir, log, settings: chosenSizes(config) });
      return openPostgres(embedded.url, log, () => embedded.stop());
    }
    case 'postgres:':
    case 'postgresql:':
      return openPostgres(address, log, async () => undefined);
    case 'esdb:':
    case 'esdb+discover:':
      return openEventStoreDb(address, log);
    default:
      throw new RangeError(
        `an event store is at a URL of postgres:, esdb: or esdb+discover:, or is ${EMBEDDED}`,
      );
  }
};

const openPostgres = async (
  connectionString: string,
  log: Logger,
  stop: () => Promise<void>,
): Promise<OpenedEventStore> => {
  const pool = createPool({ connectionString, applicationName: 'exchange-operator', max: 4 }, log);
  const store = createPostgresEventStore({
    connectionString,
    pool,
    log,
    hasOwnPositions: isConversionStream,
  });
  const close = async (): Promise<void> => {
    await store.close();
    await pool.end();
    await stop();
  };
  try {
    await migrate(connectionString, migrations);
  } catch (error) {
    await close();
    throw error;
  }
  return { store, pool, services: () => countServices(pool), close };
};

/** Last written positions serve reads of an installation, which these commands do not make. */
const openEventStoreDb = async (connectionString: string, log: Logger): Promise<OpenedEventStore> => {
  const { createEventStoreDbEventStore } =
    await import('../shared/event-store/eventstoredb/eventstoredb-event-store.ts');
  const store = createEventStoreDbEventStore({
    connectionString,
    log,
    limits: longCallLimits,
    recordPosition: async () => undefined,
  });
  return { store, services: async () => undefined, close: () => store.close() };
};
