import type { Pool } from 'pg';
import { collectDefaultMetrics, Counter, Histogram, Registry } from 'prom-client';
import { advertiserWriteRoutes, loadAdvertiser } from './command/advertisers/routes.ts';
import { openBackbone, type Backbone } from './composition.ts';
import { advertiserStream } from './domain/advertisers/advertiser.ts';
import { allProjections } from './projections/all-projections.ts';
import type { Projection } from './projections/engine/projection.ts';
import type { EventStore } from './shared/event-store/event-store.ts';
import { startProjections, type Projections } from './projections/engine/projection-engine.ts';
import { verifyApiKey } from './query/accounts/verify-api-key.ts';
import { highestAdvertiserId } from './query/advertisers/get-advertisers.ts';
import { advertiserReadRoutes } from './query/advertisers/routes.ts';
import { systemClock } from './shared/clock.ts';
import { createSnapshotStore } from './shared/command/snapshots.ts';
import type { Config } from './shared/config.ts';
import { createApp } from './shared/http/app.ts';
import { createAuthenticate } from './shared/http/authenticate.ts';
import { unavailable } from './shared/http/errors.ts';
import type { VerifyCredential } from './shared/http/principal.ts';
import type { ReadinessPart } from './shared/http/readiness.ts';
import type { Route } from './shared/http/route.ts';
import type { RouteServices } from './shared/http/route-handler.ts';
import { startServer, type RunningServer } from './shared/http/server.ts';
import { serviceRoutes } from './shared/http/service-routes.ts';
import { createExecuteOnce } from './shared/idempotency/execute-once.ts';
import { createIdempotencyStore, type IdempotencyStore } from './shared/idempotency/idempotency-store.ts';
import { purgeRegularly } from './shared/idempotency/purge-regularly.ts';
import type { Logger } from './shared/log.ts';
import { createPool } from './shared/postgres/pool.ts';
import { idSequence } from './shared/postgres/sequence.ts';
import { createAnswerCache, type AnswerCache } from './shared/read-your-writes/answer-cache.ts';
import {
  createProjectionProgress,
  type ProjectionProgress,
} from './shared/read-your-writes/projection-progress.ts';
import { version } from './shared/version.ts';
import { prepareDatabase } from './shared/postgres/prepare-database.ts';

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
 * see them caught (`test/faults/mutants.ts`); the program itself passes none.
 */
export interface Replacements {
  readonly store?: (store: EventStore) => EventStore;
  readonly idempotency?: (store: IdempotencyStore) => IdempotencyStore;
  readonly projection?: (projection: Projection) => Projection;
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
  const opened = await openBackbone(config, 'exchange', log);
  const backbone = replace.store === undefined ? opened : { ...opened, store: replace.store(opened.store) };
  const derivedPool = createDerivedPool(backbone, log);
  const metrics = new Registry();
  collectDefaultMetrics({ register: metrics });
  backbone.registerMetrics(metrics);
  const progress = createProjectionProgress();
  const claims = createIdempotencyStore(backbone.storeKind === 'postgres' ? derivedPool : backbone.pool);
  const idempotency = replace.idempotency?.(claims) ?? claims;
  const ending = new AbortController();
  let running: Projections | undefined;
  let server: RunningServer | undefined;
  const host = config.HOST.includes(':') ? `[${config.HOST}]` : config.HOST;
  const baseUrl = (): string => config.BASE_URL ?? `http://${host}:${server?.port ?? config.PORT}`;

  const prepared = prepareDatabase(backbone, config, log, ending.signal).then((isPrepared) => {
    if (!isPrepared || ending.signal.aborted) return false;
    if (config.ROLES.includes('worker')) purgeRegularly(idempotency, log, ending.signal);
    running = startProjections({
      projections: allProjections.map((projection) => replace.projection?.(projection) ?? projection),
      lead: config.ROLES.includes('projector'),
      store: backbone.store,
      connectionString: backbone.databaseUrl,
      pool: derivedPool,
      log,
      registry: metrics,
      progress,
    });
    return true;
  });
  // Whoever awaits `prepared` learns of a failure; nobody awaiting it yet is no reason to end the process.
  prepared.catch(() => undefined);

  const routes = config.ROLES.includes('api') ? apiRoutes(backbone, progress, metrics, log) : [];
  const parts = readinessParts(backbone, () => running);
  const stopping = (): boolean => ending.signal.aborted;
  const app = createApp({
    routes: [...routes, ...serviceRoutes({ version, baseUrl, parts, metrics, stopping }, routes)],
    authenticate: createAuthenticate(
      verifyWhenPrepared(() => running !== undefined, verifyApiKey(backbone.pool)),
      baseUrl,
    ),
    executeOnce: createExecuteOnce(idempotency, log),
    log,
    durations: requestDurations(metrics),
    ...(onAnswer === undefined ? {} : { onAnswer }),
  });
  const stop = async (): Promise<void> => {
    ending.abort();
    await server?.drain();
    await running?.stop();
    await derivedPool.end();
    await backbone.close();
  };
  server = await startServer(app, { host: config.HOST, port: config.PORT }, log).catch(failAfter(stop));

  return { baseUrl: baseUrl(), backbone, prepared, stop };
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
const createDerivedPool = ({ databaseUrl }: Backbone, log: Logger): Pool =>
  createPool(
    {
      connectionString: databaseUrl,
      applicationName: 'exchange-derived',
      // A batch of each read model, and the claims of the requests.
      max: allProjections.length + 4,
      asyncCommit: true,
    },
    log,
  );

const apiRoutes = (
  { pool, store }: Backbone,
  progress: ProjectionProgress,
  metrics: Registry,
  log: Logger,
): readonly Route[] => {
  const stores = { store, snapshots: createSnapshotStore(pool, log) };
  return [
    ...advertiserWriteRoutes({
      ...stores,
      clock: systemClock,
      ids: idSequence(pool, 'advertiser_ids'),
      highestId: (customerId) => highestAdvertiserId(pool, customerId),
    }),
    ...advertiserReadRoutes({
      pool,
      progress,
      answers: readyAnswers(pool, metrics),
      streamOf: advertiserStream,
      foldAdvertiser: (customerId, id) => loadAdvertiser(stores, customerId, id),
    }),
  ];
};

/** Before the database is prepared there is nothing to verify against: 503, not 500. */
const verifyWhenPrepared =
  (prepared: () => boolean, verify: VerifyCredential): VerifyCredential =>
  async (credential) => {
    if (!prepared()) throw unavailable('The service is starting. Repeat the request after Retry-After.');
    return verify(credential);
  };

const readinessParts = (
  { pool, store, storeKind }: Backbone,
  running: () => Projections | undefined,
): readonly ReadinessPart[] => [
  {
    name: 'database',
    check: async () => {
      await pool.query('select 1');
      return running() === undefined ? { ready: false, detail: 'not migrated yet' } : { ready: true };
    },
  },
  {
    name: 'eventStore',
    check: async () => ({ ready: true, detail: { kind: storeKind, head: await store.head() } }),
  },
  {
    name: 'projections',
    check: async () => {
      const { ready, ...detail } = (await running()?.readiness()) ?? { ready: false };
      return { ready, detail };
    },
  },
];

const requestDurations = (registry: Registry): Histogram =>
  new Histogram({
    name: 'http_request_duration_seconds',
    help: 'Time from the request to the end of its answer',
    labelNames: ['route', 'method', 'status'],
    buckets: [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5],
    registers: [registry],
  });

/** Of the pool through which marks are read: a new connection may lead to another server (`AnswerCache.clear`). */
const readyAnswers = (pool: Pool, registry: Registry): AnswerCache => {
  const answers = createAnswerCache(ANSWER_CACHE_BYTES_MAX);
  pool.on('connect', () => answers.clear());
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
