import type { Pool } from 'pg';
import { collectDefaultMetrics, Counter, Histogram, Registry } from 'prom-client';
import { createAssetParts, type AssetParts } from './asset-parts.ts';
import { auditedKinds } from './audited-kinds/all-kinds.ts';
import { subjectsOfRoutes } from './audited-kinds/subjects-of-routes.ts';
import { campaignRoutes } from './campaign-routes.ts';
import { createKeyUse, maintainKeys } from '../command/accounts/record-key-use.ts';
import { createRetiredKeys } from '../command/accounts/retire-keys.ts';
import { accountWriteRoutes } from '../command/accounts/routes.ts';
import { bareBrand, brandFetch, createFindBrand, type FindBrand } from '../command/brands/find-brand.ts';
import { advertiserWriteRoutes } from '../command/advertisers/routes.ts';
import { createAttemptLog, createOldAttempts, type AttemptLog } from '../command/audit/attempt-log.ts';
import { purgeableAudiences } from '../command/audiences/purge-audiences.ts';
import { createEndedFlights } from '../command/campaigns/complete-campaigns.ts';
import type { Segments } from '../command/conversions/segments.ts';
import { createOrphanSecrets } from '../command/secrets/orphan-secrets.ts';
import { openBackbone, type Backbone } from './composition.ts';
import { createConversionParts, type ConversionParts } from './conversion-parts.ts';
import { Scope } from '../domain/accounts/access.ts';
import { engineRoutes } from './engine-routes.ts';
import { withHistory } from './history-routes.ts';
import { allProjections } from '../projections/all-projections.ts';
import type { Projection } from '../projections/engine/projection.ts';
import type { EventStore } from '../shared/event-store/event-store.ts';
import { startProjections, type Projections } from '../projections/engine/projection-engine.ts';
import { accountReadRoutes } from '../query/accounts/routes.ts';
import { verifyApiKey } from '../query/accounts/verify-api-key.ts';
import { advertiserReadRoutes } from '../query/advertisers/routes.ts';
import type { AuditedKind } from '../query/history/audited-kind.ts';
import type { KeptFolds } from '../query/history/kept-folds.ts';
import { resourceRoutes } from './resource-routes.ts';
import { systemClock } from '../shared/async/clock.ts';
import { createSnapshotStore } from '../shared/aggregate/snapshots.ts';
import { limitsOf, outboundPolicyOf, type Config } from './config.ts';
import { answeredFromMemory, createAnswerCache, type AnswerCache } from '../shared/http/answer-cache.ts';
import { createApp, type AppOptions } from '../shared/http/app.ts';
import { createAuthenticate } from '../shared/http/authenticate.ts';
import { createClientAddress } from '../shared/http/client-address.ts';
import { documentRoutes } from '../shared/http/document-routes.ts';
import { unavailable } from '../shared/http/errors.ts';
import { createGate } from '../shared/http/gate.ts';
import type { VerifyCredential } from '../shared/http/principal.ts';
import type { ReadinessPart } from '../shared/async/readiness.ts';
import type { Route } from '../shared/http/route.ts';
import type { RouteServices } from '../shared/http/route-handler.ts';
import { securityHeaders } from '../shared/http/security-headers.ts';
import { startServer, type ClientTimeouts, type RunningServer } from '../shared/http/server.ts';
import { serviceRoutes } from '../shared/http/service-routes.ts';
import { createExecuteOnce } from '../shared/http/execute-once.ts';
import { createIdempotencyStore, type IdempotencyStore } from '../shared/idempotency/idempotency-store.ts';
import { logKeysOf } from '../shared/log-chain/log-keys.ts';
import { registerSealMetrics } from '../shared/log-chain/seal-metrics.ts';
import { sealRegularly } from '../shared/log-chain/seal-regularly.ts';
import { createRateLimits, type RateLimits } from '../shared/limits/rate-limits.ts';
import type { Logger } from 'pino';
import type { OutboundFetch } from '../shared/outbound/outbound-fetch.ts';
import type { StoreTimeouts } from './store-timeouts.ts';
import { purgeRegularly } from '../shared/async/purge-regularly.ts';
import { createKeyedDigest } from '../shared/secrets/keyed-digest.ts';
import { keyRingOf, type KeyRing } from '../shared/secrets/key-ring.ts';
import { createSecretStore, type SecretStore } from '../shared/secrets/secret-store.ts';
import { createPool } from '../shared/postgres/pool.ts';
import { idSequence } from '../shared/postgres/sequence.ts';
import {
  createTenantDatabase,
  type RewriteStatement,
  type TenantDatabase,
} from '../shared/postgres/tenant-database.ts';
import {
  createProjectionProgress,
  type ProjectionProgress,
} from '../shared/follow-log/projection-progress.ts';
import { version } from './version.ts';
import { skill } from './skill.ts';
import { prepareDatabase } from './prepare-database.ts';
import { syndicationRoutes } from './syndication-routes.ts';
import { unbuiltPaths } from './unbuilt-areas.ts';
import { createWorker, type Worker } from './worker.ts';

export interface Service {
  readonly baseUrl: string;
  readonly backbone: Backbone;
  /**
   * True once the database is up to date and everything runs; until then the service answers 503. False when
   * it was stopped before.
   */
  readonly prepared: Promise<boolean>;
  /** Ends gracefully: answers what is running, then lets go of everything. */
  stop(): Promise<void>;
}

/**
 * Replaces parts of the composition by others of the same shape. For the tests that plant defects and must
 * see them caught (`test/faults/mutants.ts`), or that have no minutes to wait; the program itself passes none.
 */
export interface Replacements {
  readonly store?: (store: EventStore) => EventStore;
  readonly idempotency?: (store: IdempotencyStore) => IdempotencyStore;
  readonly segments?: (segments: Segments) => Segments;
  readonly projection?: (projection: Projection) => Projection;
  readonly tenantStatement?: RewriteStatement;
  readonly timeouts?: ClientTimeouts;
  readonly storeTimeouts?: StoreTimeouts;
  /** For what brands say of themselves. */
  readonly brandFetch?: OutboundFetch;
}

/** Memory that ready answers of reads may take. */
const ANSWER_CACHE_BYTES_MAX = 32 * 1024 * 1024;

/**
 * Composes and starts the service that the configuration describes. It listens at once; with its database
 * away it says so (`/ready`, 503) and goes on trying.
 */
export const startService = async (
  config: Config,
  log: Logger,
  onAnswer?: RouteServices['onAnswer'],
  replace: Replacements = {},
): Promise<Service> => {
  const opened = await openBackbone(config, 'exchange', log, replace.storeTimeouts);
  const backbone = replace.store === undefined ? opened : { ...opened, store: replace.store(opened.store) };
  const derivedPool = createDerivedPool(backbone, log, replace);
  const metrics = createMetrics(backbone);
  const [progress, changes] = [createProjectionProgress(), createProjectionProgress()];
  const database = createTenantDatabase(backbone.requestPool, replace.tenantStatement);
  const keys = keyRingOf(config);
  const conversions = createConversionParts({ ...backbone, keys }, config, metrics, log, replace.segments);
  const keyUse = createKeyUse(backbone.pool, systemClock);
  const idempotency = idempotencyOf(backbone, derivedPool, replace);
  const rateLimits = rateLimitsOf(config, backbone, log, metrics);
  const headers = securityHeaders(config.BASE_URL?.startsWith('https:') ?? false);
  const secrets = createSecretStore(backbone.pool, keys);
  let server: RunningServer | undefined;
  const baseUrl = (): string => config.BASE_URL ?? urlOf(config.HOST, server?.port ?? config.PORT);
  let running: Projections | undefined;
  const isPrepared = (): boolean => running !== undefined;
  const assets = await createAssetParts(backbone, config, { keys, baseUrl, isPrepared });
  const rows = { ...growingRows(backbone, idempotency, rateLimits, conversions, log), ...assets.purgeable };
  const worker = createWorker({ ...backbone, config, secrets, changes, rows, log, registry: metrics });
  const ending = new AbortController();

  const prepared = prepareDatabase(backbone, config, log, ending.signal).then((isDone) => {
    if (!isDone || ending.signal.aborted) return false;
    worker.start();
    maintainKeys(backbone.pool, keyUse, log, ending.signal);
    sweepDrafts(config, assets, log, ending.signal);
    running = startFollowing({ config, backbone, derivedPool, metrics, progress, changes, log }, replace);
    sealLogOf(config, backbone, metrics, log, ending.signal);
    return true;
  });
  // Whoever awaits `prepared` learns of a failure; nobody awaiting it yet is no reason to end the process.
  prepared.catch(() => undefined);

  const verify = verifyApiKey(backbone.pool, (keyId) => keyUse.used(keyId));
  const gate = gateOf(config, verifyWhenPrepared(isPrepared, verify), baseUrl, rateLimits);
  const reads = { config, backbone, database, progress, metrics, log };
  const kinds = auditedKinds({ database, progress, baseUrl });
  const attempts = attemptsOf(backbone, kinds, log, metrics);
  const apiParts = { ...reads, kinds, keys, secrets, baseUrl, conversions, assets };
  const { routes, unbuilt } = apiOf({ ...apiParts, findBrand: findBrandOf(config, replace) });
  const parts = readinessParts(backbone, () => running, { rateLimits, assets, worker });
  const stopping = (): boolean => ending.signal.aborted;
  const app = createApp({
    routes: withDocuments(baseUrl, [...routes, ...serviceRoutes({ version, parts, metrics, stopping })]),
    unbuilt,
    headers,
    gate,
    executeOnce: createExecuteOnce(idempotency, log),
    onRefused: (request) => attempts.refused(request),
    keyedDigest: createKeyedDigest('idempotency-fingerprint', keys),
    log,
    durations: requestDurations(metrics),
    ...(onAnswer === undefined ? {} : { onAnswer }),
  });
  const stop = async (): Promise<void> => {
    ending.abort();
    await server?.drain();
    await Promise.all([worker.stop(), running?.stop()]);
    await rateLimits.close();
    if (running !== undefined) await writeDown({ keyUse, attempts }, log);
    await derivedPool.end();
    await backbone.close();
  };
  server = await startServer(app, { ...listeningAt(config, replace), headers }, log).catch(failAfter(stop));

  return { baseUrl: baseUrl(), backbone, prepared, stop };
};

/** With what the service says of itself: of all its routes. */
const withDocuments = (baseUrl: () => string, routes: readonly Route[]): readonly Route[] => [
  ...routes,
  ...documentRoutes({ version, baseUrl, apiPath: '/api/v2/buyer', skill, scopes: Scope.options }, routes),
];

interface Following {
  readonly config: Config;
  readonly backbone: Backbone;
  readonly derivedPool: Pool;
  readonly metrics: Registry;
  readonly progress: ProjectionProgress;
  readonly changes: ProjectionProgress;
  readonly log: Logger;
}

/** Has the read models follow the log, where this process is to lead any. */
const startFollowing = (
  { config, backbone, derivedPool, metrics, progress, changes, log }: Following,
  replace: Replacements,
): Projections =>
  startProjections({
    projections: allProjections.map((projection) => replace.projection?.(projection) ?? projection),
    lead: config.ROLES.includes('projector'),
    store: backbone.store,
    connectionString: backbone.databaseUrl,
    pool: derivedPool,
    log,
    registry: metrics,
    progress,
    changes,
  });

/** Tables that grow, by what they hold. */
const growingRows = (
  { store, pool }: Backbone,
  idempotency: IdempotencyStore,
  rateLimits: RateLimits,
  conversions: ConversionParts,
  log: Logger,
) => ({
  'idempotency keys': idempotency,
  'rate windows': rateLimits,
  'API keys': createRetiredKeys({ store, pool, clock: systemClock }),
  'orphan secrets': createOrphanSecrets({ store, pool, log, snapshots: createSnapshotStore(pool, log) }),
  ...purgeableAudiences(pool),
  'refused requests': createOldAttempts(pool),
  'ended flights': createEndedFlights({ store, pool, clock: systemClock }),
  ...conversions.purgeable,
});

/** Events elsewhere say nothing of the order of commits here: then a claim must be on the disk before them. */
const idempotencyOf = (
  { storeKind, pool }: Backbone,
  derivedPool: Pool,
  replace: Replacements,
): IdempotencyStore => {
  const claims = createIdempotencyStore(storeKind === 'postgres' ? derivedPool : pool);
  return replace.idempotency?.(claims) ?? claims;
};

const attemptsOf = (
  { pool }: Backbone,
  kinds: readonly AuditedKind[],
  log: Logger,
  registry: Registry,
): AttemptLog =>
  createAttemptLog({ pool, clock: systemClock, log, registry, subjectOf: subjectsOfRoutes(kinds) });

/** Where uploads come in: what is on this machine's disk no other process can sweep. */
const sweepDrafts = ({ ROLES }: Config, { drafts }: AssetParts, log: Logger, signal: AbortSignal): void => {
  if (!ROLES.includes('api')) return;
  for (const [what, files] of Object.entries(drafts)) purgeRegularly(what, files, log, signal);
};

/** A hash chain over the log, in the projectors: appends know nothing of it. */
const sealLogOf = (
  config: Config,
  backbone: Backbone,
  metrics: Registry,
  log: Logger,
  signal: AbortSignal,
): void => {
  if (!config.ROLES.includes('projector') || config.LOG_SEAL_SECONDS === 0) return;
  const keys = logKeysOf(config);
  const chain = { pool: backbone.pool, log: backbone.logBytes, keys, clock: systemClock, signal };
  sealRegularly(chain, config.LOG_SEAL_SECONDS * 1_000, log, registerSealMetrics(metrics));
};

const createMetrics = (backbone: Backbone): Registry => {
  const metrics = new Registry();
  collectDefaultMetrics({ register: metrics });
  backbone.registerMetrics(metrics);
  return metrics;
};

const urlOf = (host: string, port: number): string =>
  `http://${host.includes(':') ? `[${host}]` : host}:${port}`;

/** What is written down in batches, by what it is. */
const writeDown = async (
  batches: Readonly<Record<string, { flush(): Promise<void> }>>,
  log: Logger,
): Promise<void> => {
  for (const [what, batch] of Object.entries(batches)) {
    await batch
      .flush()
      .catch((error: unknown) => log.warn({ err: error, what }, 'the last was not written down'));
  }
};

/** What could not start, because its port is taken, say, leaves no Postgres running behind it. */
const failAfter =
  (stop: () => Promise<void>) =>
  async (error: unknown): Promise<never> => {
    await stop();
    throw error;
  };

/**
 * For claims and read models, which may lose their last moments in a crash of the database: both are made
 * again from the events, which may not.
 */
const createDerivedPool = ({ databaseUrl }: Backbone, log: Logger, { storeTimeouts }: Replacements): Pool =>
  createPool(
    {
      connectionString: databaseUrl,
      applicationName: 'exchange-derived',
      // A batch of each read model, and the claims of the requests.
      max: allProjections.length + 4,
      asyncCommit: true,
      system: true,
      ...(storeTimeouts && { timeouts: storeTimeouts.postgres }),
    },
    log,
  );

const listeningAt = (
  { HOST, PORT, CONNECTIONS_MAX, DRAIN_DELAY_MS }: Config,
  { timeouts }: Replacements,
) => ({
  host: HOST,
  port: PORT,
  connectionsMax: CONNECTIONS_MAX,
  drainDelayMs: DRAIN_DELAY_MS,
  ...(timeouts !== undefined && { timeouts }),
});

const rateLimitsOf = (
  config: Config,
  { databaseUrl }: Backbone,
  log: Logger,
  registry: Registry,
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

const gateOf = (
  { TRUSTED_PROXIES }: Config,
  verify: VerifyCredential,
  baseUrl: () => string,
  { limiter, failedCredentials }: RateLimits,
) =>
  createGate({
    authenticate: createAuthenticate(verify, baseUrl),
    clientAddress: createClientAddress(TRUSTED_PROXIES),
    limiter,
    failedCredentials,
  });

const findBrandOf = (config: Config, replace: Replacements): FindBrand => {
  const { BRAND_LOOKUP_MS: withinMs } = config;
  if (withinMs === 0) return async (domain) => bareBrand(domain);
  const fetch = replace.brandFetch ?? brandFetch(outboundPolicyOf(config), withinMs);
  return createFindBrand(fetch, withinMs);
};

interface ApiParts {
  readonly kinds: readonly AuditedKind[];
  readonly config: Config;
  readonly backbone: Backbone;
  readonly database: TenantDatabase;
  readonly progress: ProjectionProgress;
  readonly metrics: Registry;
  readonly log: Logger;
  readonly keys: () => Promise<KeyRing>;
  readonly secrets: SecretStore;
  readonly baseUrl: () => string;
  readonly conversions: ConversionParts;
  readonly assets: AssetParts;
  readonly findBrand: FindBrand;
}

/** Of a process without the role: nothing. */
const apiOf = (parts: ApiParts): Required<Pick<AppOptions, 'routes' | 'unbuilt'>> =>
  parts.config.ROLES.includes('api')
    ? { routes: apiRoutes(parts), unbuilt: unbuiltPaths }
    : { routes: [], unbuilt: [] };

const apiRoutes = ({
  config,
  backbone,
  database,
  progress,
  metrics,
  log,
  conversions,
  assets,
  findBrand,
  kinds,
  ...parts
}: ApiParts): readonly Route[] => {
  const { pool, requestPool, store } = backbone;
  const outbound = outboundPolicyOf(config);
  const stores = { store, snapshots: createSnapshotStore(pool, log) };
  const answers = readyAnswers([pool, requestPool], metrics);
  const routes = [
    ...accountWriteRoutes({ store, database, clock: systemClock }),
    ...accountReadRoutes(database),
    ...advertiserWriteRoutes({
      ...stores,
      clock: systemClock,
      ids: idSequence(pool, 'advertiser_ids', 'advertisers'),
      findBrand,
    }),
    ...answeredFromMemory(answers, advertiserReadRoutes({ ...stores, database, progress })),
    ...assets.routes({ ...stores, database, progress }),
    ...resourceRoutes({
      ...stores,
      ...conversions,
      outbound,
      answers,
      clock: systemClock,
      database,
      progress,
    }),
    ...campaignRoutes({ ...stores, ...parts, answers, clock: systemClock, database, progress }),
    ...engineRoutes({ ...stores, ...parts, log, clock: systemClock, database, progress }),
    ...syndicationRoutes({
      ...stores,
      ...parts,
      outbound,
      agentCheckMs: config.AGENT_CHECK_MS,
      clock: systemClock,
      database,
      progress,
    }),
  ];
  const history = {
    store,
    keys: parts.keys,
    kinds,
    database,
    progress,
    onKeptFolds: (kept: KeptFolds) => onConnect([pool], () => kept.interrupt()),
  };
  return withHistory(history, routes);
};

/** A new connection may lead to another server, or one restored to an earlier time (`AnswerCache.clear`). */
const onConnect = (pools: readonly Pool[], doubt: () => void): void => {
  for (const pool of pools) pool.on('connect', doubt);
};

/** Before the database is prepared there is nothing to verify against: 503, not 500. */
const verifyWhenPrepared =
  (prepared: () => boolean, verify: VerifyCredential): VerifyCredential =>
  async (credential, connection) => {
    if (!prepared()) throw unavailable('The service is starting. Repeat the request after Retry-After.');
    return verify(credential, connection);
  };

const readinessParts = (
  backbone: Backbone,
  running: () => Projections | undefined,
  { rateLimits, assets, worker }: { rateLimits: RateLimits; assets: AssetParts; worker: Worker },
): readonly ReadinessPart[] => [
  {
    name: 'database',
    check: async () => {
      await backbone.pool.query('select 1');
      return running() === undefined ? { ready: false, detail: 'not migrated yet' } : { ready: true };
    },
  },
  {
    name: 'eventStore',
    check: async () => {
      const kind = backbone.storeKind;
      // Together: one after the other could take longer than a part may.
      const head = backbone.store.head();
      head.catch(() => undefined);
      const problem = await backbone.appendProblem();
      return problem === undefined
        ? { ready: true, detail: { kind, head: await head } }
        : { ready: false, detail: { kind, problem } };
    },
  },
  {
    name: 'projections',
    check: async () => {
      const { ready, ...detail } = (await running()?.readiness()) ?? { ready: false };
      return { ready, detail };
    },
  },
  rateLimits.readiness,
  ...assets.readiness,
  ...worker.parts,
];

const requestDurations = (registry: Registry): Histogram =>
  new Histogram({
    name: 'http_request_duration_seconds',
    help: 'Time from the request to the end of its answer',
    labelNames: ['route', 'method', 'status'],
    buckets: [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5],
    registers: [registry],
  });

/** @param pools through which versions of accounts are read */
const readyAnswers = (pools: readonly Pool[], registry: Registry): AnswerCache => {
  const answers = createAnswerCache(ANSWER_CACHE_BYTES_MAX);
  onConnect(pools, () => answers.clear());
  const counter = new Counter({
    name: 'read_answers_total',
    help: 'Answers of reads, by whether they were ready in memory',
    labelNames: ['from'],
    registers: [registry],
    collect: () => {
      counter.reset();
      counter.inc({ from: 'memory' }, answers.hits);
      counter.inc({ from: 'read_model' }, answers.misses);
    },
  });
  return answers;
};
