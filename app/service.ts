import type { Registry } from 'prom-client';
import type { ComposeMail } from '../command/workers/mail/send-mails.ts';
import {
  createCredentialUses,
  maintainKeys,
  type CredentialUses,
} from '../command/accounts/record-key-use.ts';
import { createConfirmations } from '../shared/confirmations/confirmations.ts';
import type { Segments } from '../command/conversions/segments.ts';
import { allProjections } from '../projections/all-projections.ts';
import type { Projection } from '../projections/engine/projection.ts';
import type { McpOptions } from '../mcp/routes.ts';
import type { HubTimes } from '../query/realtime/hub.ts';
import { systemClock as clock } from '../shared/async/clock.ts';
import { baseUrlOf } from './base-url.ts';
import { limitsOf, type Config } from './config.ts';
import type { EventStore } from '../shared/event-store/event-store.ts';
import { createReadiness, type ReadinessPart } from '../shared/async/readiness.ts';
import type { AnyRoute } from '../shared/http/route.ts';
import type { RouteServices } from '../shared/http/route-handler.ts';
import { PART_MS_MAX } from '../shared/http/service-routes.ts';
import { securityHeaders } from '../shared/http/security-headers.ts';
import { startServer, type ClientTimeouts, type RunningServer } from '../shared/http/server.ts';
import { createIdempotencyStore, type IdempotencyStore } from '../shared/idempotency/idempotency-store.ts';
import { createRateLimits, type RateLimits } from '../shared/limits/rate-limits.ts';
import type { Logger } from 'pino';
import type { OutboundFetch } from '../shared/outbound/outbound-fetch.ts';
import type { StoreTimeouts } from './store-timeouts.ts';
import { prepareDatabase } from './prepare-database.ts';
import type { RewriteStatement } from '../shared/postgres/tenant-database.ts';
import { createProjectionProgress } from '../shared/follow-log/projection-progress.ts';
import { createKeyedDigest } from '../shared/secrets/keyed-digest.ts';
import type { ObjectStore } from '../shared/storage/object-store.ts';
import { openObjectStore } from '../shared/storage/open-object-store.ts';
import { housekeeping, sweepDrafts } from './housekeeping.ts';
import { openInstallation, type Installation } from './installation.ts';
import { createMetrics } from './metrics.ts';
import { createLogLevel } from '../shared/operator/log-level.ts';
import { startOperatorListener, type OperatorListener } from '../shared/operator/operator-listener.ts';
import { createProjector, type Projector } from './projector.ts';
import { assetStoreReadiness, databaseReadiness, eventStoreReadiness } from './readiness-checks.ts';
import { createWeb, type Web } from './web.ts';
import { createWorker, type Worker } from './worker.ts';

export interface Service {
  readonly baseUrl: string;
  /** The address of the listener for operators. */
  readonly operatorUrl: string;
  readonly installation: Installation;
  /** True once everything runs; until then the service answers 503. False when it was stopped before. */
  readonly prepared: Promise<boolean>;
  /** Ends gracefully: answers the requests in progress, then closes everything. */
  stop(): Promise<void>;
}

/** Tests plant defects (`test/faults/mutants.ts`) and shorten timeouts; the program itself passes none. */
export interface Replacements {
  readonly store?: (store: EventStore) => EventStore;
  readonly idempotency?: (store: IdempotencyStore) => IdempotencyStore;
  readonly segments?: (segments: Segments) => Segments;
  readonly projection?: (projection: Projection) => Projection;
  readonly tenantStatement?: RewriteStatement;
  readonly timeouts?: ClientTimeouts;
  readonly storeTimeouts?: StoreTimeouts;
  readonly brandFetch?: OutboundFetch;
  readonly composeMail?: ComposeMail;
  readonly clientMetadataFetch?: OutboundFetch;
  readonly routes?: readonly AnyRoute[];
  readonly realtime?: Partial<HubTimes>;
  readonly mcpServer?: McpOptions['serverFor'];
}

/** The server listens immediately. While the database is unavailable, it answers 503 and retries. */
export const startService = async (
  config: Config,
  log: Logger,
  onAnswer?: RouteServices['onAnswer'],
  replace: Replacements = {},
): Promise<Service> => {
  const logLevel = createLogLevel(log);
  const installation = await openReplaced(config, log, replace);
  const { pool, keys } = installation;
  const registry = metricsOf(installation);
  const objects = await openObjectStore(config.ASSET_STORE_URL, config.DATA_DIR);
  const rateLimits = openRateLimits(config, installation, registry, log);
  const idempotency = openIdempotency(installation, replace);
  const confirmations = createConfirmations(pool, createKeyedDigest('confirmation', keys));
  const uses = createCredentialUses(pool, clock);
  const [progress, changes] = [createProjectionProgress(), createProjectionProgress()];
  const ending = new AbortController();
  let [server, operator]: [RunningServer?, OperatorListener?] = [];
  const port = (): number => server?.port ?? config.PORT;
  const baseUrl = (): string => baseUrlOf(config, port());

  const projections = allProjections.map((one) => replace.projection?.(one) ?? one);
  const everywhere = { config, registry, log };
  const projector = createProjector({ ...installation, ...everywhere, projections, progress, changes });
  const expired = housekeeping({ ...installation, objects, log });
  const purged = { ...expired, 'idempotency keys': idempotency, 'rate windows': rateLimits, confirmations };
  const stores = { ...installation, objects };
  const worker = createWorker({ ...stores, ...everywhere, changes, purged, baseUrl, replace });
  const readiness = readinessOf(config, installation, projector, worker, rateLimits, objects);
  const web = createWeb({
    ...stores,
    ...everywhere,
    rateLimits,
    idempotency,
    confirmations,
    uses,
    progress,
    readiness,
    baseUrl,
    port,
    isPrepared: () => projector.isRunning(),
    ending: ending.signal,
    onAnswer,
    replace,
  });

  const prepared = prepareDatabase(installation, config, log, ending.signal).then((isDone) => {
    if (!isDone || ending.signal.aborted) return false;
    worker.start();
    maintainKeys(pool, uses, log, ending.signal);
    sweepDrafts(config, objects, log, ending.signal);
    projector.start();
    return true;
  });
  // The caller may await `prepared` later or never: until then its failure must not end the process.
  prepared.catch(() => undefined);

  const stop = async (): Promise<void> => {
    ending.abort();
    await server?.drain();
    await endParts({ worker, projector, web, rateLimits, uses, log });
    await operator?.close();
    await installation.close();
  };
  server = await startServer(web.app, listenOptions(config, replace), log).catch(closeAfterFailure(stop));
  const forOperators = {
    ...everywhere,
    ...operatorOptions(config, readiness),
    logLevel,
    board: worker.queues,
  };
  operator = await startOperatorListener(forOperators).catch(closeAfterFailure(stop));
  return { baseUrl: baseUrl(), operatorUrl: operator.url, installation, prepared, stop };
};

interface Parts {
  readonly worker: Worker;
  readonly projector: Projector;
  readonly web: Web;
  readonly rateLimits: RateLimits;
  readonly uses: CredentialUses;
  readonly log: Logger;
}

const endParts = async ({ worker, projector, web, rateLimits, uses, log }: Parts): Promise<void> => {
  await Promise.all([worker.stop(), projector.stop(), web.realtime?.close()]);
  await rateLimits.close();
  if (projector.isRunning()) await flushAll({ ...uses, attempts: web.attempts }, log);
};

const openReplaced = async (config: Config, log: Logger, replace: Replacements): Promise<Installation> => {
  const installation = await openInstallation(config, 'exchange', log, replace.storeTimeouts);
  return { ...installation, store: replace.store?.(installation.store) ?? installation.store };
};

const metricsOf = (installation: Installation): Registry => {
  const registry = createMetrics();
  installation.registerMetrics(registry);
  return registry;
};

const openRateLimits = (
  config: Config,
  { databaseUrl }: Installation,
  registry: Registry,
  log: Logger,
): RateLimits =>
  createRateLimits({
    limits: limitsOf(config),
    nodes: config.LIMIT_NODES,
    databaseUrl,
    redisUrl: config.REDIS_URL,
    redisKeyPrefix: config.REDIS_KEY_PREFIX,
    log,
    registry,
  });

/** With the events in another store, a claim must be on the disk before its events are. */
const openIdempotency = (
  { storeKind, pool, derivedPool }: Installation,
  replace: Replacements,
): IdempotencyStore => {
  const claims = createIdempotencyStore(storeKind === 'postgres' ? derivedPool : pool);
  return replace.idempotency?.(claims) ?? claims;
};

const readinessOf = (
  { ROLES }: Config,
  installation: Installation,
  projector: Projector,
  worker: Worker,
  rateLimits: RateLimits,
  objects: ObjectStore,
): readonly ReadinessPart[] => [
  databaseReadiness(installation.pool, () => projector.isRunning()),
  eventStoreReadiness(installation),
  projector.readiness,
  rateLimits.readiness,
  ...(ROLES.some((role) => role !== 'projector') ? [assetStoreReadiness(objects)] : []),
  ...worker.parts,
];

const listenOptions = (
  { HOST, PORT, BASE_URL, CONNECTIONS_MAX, DRAIN_DELAY_MS }: Config,
  { timeouts }: Replacements,
) => ({
  host: HOST,
  port: PORT,
  connectionsMax: CONNECTIONS_MAX,
  drainDelayMs: DRAIN_DELAY_MS,
  headers: securityHeaders(BASE_URL?.startsWith('https:') ?? false),
  ...(timeouts !== undefined && { timeouts }),
});

/** After the port of the service, so that several processes on one machine find their own. */
const operatorOptions = (
  { OPERATOR_HOST: host, OPERATOR_PORT, PORT }: Config,
  readiness: readonly ReadinessPart[],
) => ({
  readiness: createReadiness(readiness, PART_MS_MAX),
  host,
  port: OPERATOR_PORT ?? (PORT === 0 || PORT === PORT_MAX ? 0 : PORT + 1),
  anyPort: OPERATOR_PORT === undefined,
});

const PORT_MAX = 65_535;

const flushAll = async (
  buffers: Readonly<Record<string, { flush(): Promise<void> }>>,
  log: Logger,
): Promise<void> => {
  for (const [what, buffer] of Object.entries(buffers)) {
    await buffer
      .flush()
      .catch((error: unknown) => log.warn({ err: error, what }, 'a buffer could not be flushed at the end'));
  }
};

/** A service that cannot start, because its port is taken for example, leaves no Postgres running. */
const closeAfterFailure =
  (stop: () => Promise<void>) =>
  async (error: unknown): Promise<never> => {
    await stop();
    throw error;
  };
