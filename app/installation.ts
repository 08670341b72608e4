import type { Pool } from 'pg';
import type { Registry } from 'prom-client';
import { isConversionStream } from '../domain/conversions/events.ts';
import { personalParts } from '../domain/personal-data/split-personal-data.ts';
import { migrations } from '../migrations/index.ts';
import { requestRights } from '../migrations/request-rights.ts';
import { allProjections } from '../projections/all-projections.ts';
import type { Config } from './config.ts';
import type { EventStore } from '../shared/event-store/event-store.ts';
import {
  createPostgresEventStore,
  type PostgresEventStoreOptions,
} from '../shared/event-store/postgres/postgres-event-store.ts';
import type { Logger } from 'pino';
import { portLogBytes, postgresLogBytes, type LogBytes } from '../shared/log-chain/log-bytes.ts';
import { requestStoreTimeouts, type StoreTimeouts } from './store-timeouts.ts';
import { createPersonalKeys, type PersonalKeys } from '../shared/personal-data/personal-keys.ts';
import { tracedStore } from '../shared/tracing/traced-store.ts';
import { createSealedStore } from '../shared/personal-data/sealed-store.ts';
import { refuseUnusableFolder } from '../shared/storage/data-folder.ts';
import { startEmbeddedPostgres } from '../shared/postgres/embedded/embedded-postgres.ts';
import { chosenSizes } from '../shared/postgres/embedded/settings.ts';
import {
  isolateTenants,
  provideRequestRole,
  type TenantIsolation,
} from '../shared/postgres/isolate-tenants.ts';
import { migrate } from '../shared/postgres/migrate.ts';
import { createPool } from '../shared/postgres/pool.ts';
import { createRequestPool } from '../shared/postgres/tenant-database.ts';
import { createRecordPosition } from '../shared/follow-log/record-position.ts';
import { createSnapshotStore, type SnapshotStore } from '../shared/aggregate/snapshots.ts';
import { createSecretStore, type SecretStore } from '../shared/secrets/secret-store.ts';
import { keyRingOf, type KeyRing } from '../shared/secrets/key-ring.ts';

export interface Installation {
  readonly databaseUrl: string;
  /** With the rights of the installation, across accounts. Not for the reads of requests. */
  readonly pool: Pool;
  /** For claims and read models: commits lost in a database crash are rebuilt from the events. */
  readonly derivedPool: Pool;
  /** For requests: each connection is bound by the policies, see `createTenantDatabase`. */
  readonly requestPool: Pool;
  /** Personal data is encrypted at rest and decrypted by this handle. */
  readonly store: EventStore;
  readonly sealedStore: EventStore;
  readonly personalKeys: PersonalKeys;
  readonly keys: () => Promise<KeyRing>;
  readonly secrets: SecretStore;
  readonly snapshots: SnapshotStore;
  readonly storeKind: 'postgres' | 'eventstoredb';
  readonly logBytes: LogBytes;
  /** Why an append would fail now; undefined when it would not, or where only an append can show it. */
  appendProblem(): Promise<string | undefined>;
  registerMetrics(registry: Registry): void;
  /** Also creates the policies that keep accounts apart. */
  migrate(): Promise<void>;
  close(): Promise<void>;
}

/** Look-ups of credentials (two at once), streams and ids. Most concurrent ones share a statement. */
const SYSTEM_CONNECTIONS_MAX = 5;
/** One for a batch of each read model, and the claims of the requests. */
const DERIVED_CONNECTIONS_MAX = allProjections.length + 4;

/** Connects lazily: while an external database is unavailable, this succeeds and its users get 503. */
export const openInstallation = async (
  config: Config,
  applicationName: string,
  log: Logger,
  timeouts: StoreTimeouts = requestStoreTimeouts,
): Promise<Installation> => {
  if (config.DATABASE_URL === undefined) await refuseUnusableFolder(config.DATA_DIR);
  const embedded =
    config.DATABASE_URL === undefined
      ? await startEmbeddedPostgres({ dataDir: config.DATA_DIR, log, settings: chosenSizes(config) })
      : undefined;
  const databaseUrl = config.DATABASE_URL ?? embedded?.url ?? '';
  const pool = createPool(
    {
      connectionString: databaseUrl,
      applicationName,
      max: SYSTEM_CONNECTIONS_MAX,
      timeouts: timeouts.postgres,
      system: true,
      planOnce: true,
    },
    log,
  );
  const derivedPool = createDerivedPool(databaseUrl, applicationName, timeouts, log);
  let isolation: TenantIsolation | undefined;
  const requestPool = createRequestPool(
    {
      connectionString: databaseUrl,
      applicationName: `${applicationName}-requests`,
      max: config.DATABASE_POOL_MAX,
      timeouts: timeouts.postgres,
    },
    () => isolation,
    log,
  );
  const { store: sealedStore, ...eventLog } = await openLog(config, {
    connectionString: databaseUrl,
    pool,
    log,
    limits: timeouts.calls,
    timeouts: timeouts.postgres,
  });
  const keys = keyRingOf(config);
  const personalKeys = createPersonalKeys(pool, keys);
  return {
    databaseUrl,
    pool,
    derivedPool,
    requestPool,
    ...eventLog,
    store: whereTraced(createSealedStore(sealedStore, personalKeys, personalParts), config),
    sealedStore,
    personalKeys,
    keys,
    secrets: createSecretStore(pool, keys),
    snapshots: createSnapshotStore(pool, log),
    migrate: async () => {
      const names = await migrate(databaseUrl, migrations);
      if (embedded !== undefined) await provideRequestRole(embedded);
      isolation = await isolateTenants(databaseUrl, requestRights);
      if (names.length > 0) log.info({ migrations: names }, 'database migrated');
    },
    close: async () => {
      await sealedStore.close();
      await Promise.all([pool.end(), derivedPool.end(), requestPool.end()]);
      await embedded?.stop();
    },
  };
};

const whereTraced = (store: EventStore, { OTEL_EXPORTER_OTLP_ENDPOINT }: Config): EventStore =>
  OTEL_EXPORTER_OTLP_ENDPOINT === undefined ? store : tracedStore(store);

const createDerivedPool = (
  connectionString: string,
  applicationName: string,
  { postgres: timeouts }: StoreTimeouts,
  log: Logger,
): Pool =>
  createPool(
    {
      connectionString,
      applicationName: `${applicationName}-derived`,
      max: DERIVED_CONNECTIONS_MAX,
      timeouts,
      asyncCommit: true,
      system: true,
    },
    log,
  );

type EventLog = Pick<Installation, 'store' | 'storeKind' | 'logBytes' | 'appendProblem' | 'registerMetrics'>;

/** Without the role `api` no client waits for appends. Announcements cost each read model a statement. */
const UNHURRIED = { appendConnections: 1, announceEveryMs: 50 };

/** Imported on use: the client of EventStoreDB takes memory and time to load. */
const openLog = async (
  config: Config,
  { limits, ...postgres }: PostgresEventStoreOptions & { readonly limits: StoreTimeouts['calls'] },
): Promise<EventLog> => {
  if (config.EVENTSTORE_URL === undefined) {
    const unhurried = config.ROLES.includes('api') ? {} : UNHURRIED;
    const store = createPostgresEventStore({
      ...postgres,
      ...unhurried,
      hasOwnPositions: isConversionStream,
    });
    const logBytes = postgresLogBytes(postgres.pool);
    return {
      store,
      storeKind: 'postgres',
      logBytes,
      appendProblem: async () => undefined,
      registerMetrics: () => undefined,
    };
  }
  const { createEventStoreDbEventStore } =
    await import('../shared/event-store/eventstoredb/eventstoredb-event-store.ts');
  const { registerEventStoreDbMetrics } =
    await import('../shared/event-store/eventstoredb/eventstoredb-metrics.ts');
  const store = createEventStoreDbEventStore({
    connectionString: config.EVENTSTORE_URL,
    log: postgres.log,
    limits,
    recordPosition: createRecordPosition(postgres.pool, (stream) =>
      isConversionStream(stream) ? 'conversion_positions' : 'account_positions',
    ),
  });
  return {
    store,
    storeKind: 'eventstoredb',
    logBytes: portLogBytes(store, 'eventstoredb-1'),
    appendProblem: () => store.appendProblem(),
    registerMetrics: (registry) => registerEventStoreDbMetrics(registry, store),
  };
};
