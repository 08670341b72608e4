import { setMaxListeners } from 'node:events';
import type { Pool } from 'pg';
import type { Registry } from 'prom-client';
import { checkAgents } from '../command/workers/agent-checks/check-agents.ts';
import { createCheckList } from '../command/workers/agent-checks/check-list.ts';
import { createFeedList } from '../command/workers/catalog-feeds/feed-list.ts';
import { createFetchFeed } from '../command/workers/catalog-feeds/fetch-feed.ts';
import { readFeeds } from '../command/workers/catalog-feeds/read-feeds.ts';
import { createAudienceParts } from '../command/workers/syndication/audience-parts.ts';
import { createSubmissionList } from '../command/workers/sellers/submission-list.ts';
import { submitLaunched } from '../command/workers/sellers/submit-launched.ts';
import { offerWork } from '../command/workers/syndication/offer-work.ts';
import { syndicationJobs } from '../command/workers/syndication/syndication-jobs.ts';
import { createBacklogMetrics } from '../command/workers/syndication/backlog-metrics.ts';
import { createWorkList, type WorkList } from '../command/workers/syndication/work-list.ts';
import { systemClock } from '../shared/async/clock.ts';
import { createSnapshotStore } from '../shared/aggregate/snapshots.ts';
import type { EventStore } from '../shared/event-store/event-store.ts';
import { createOutboundFetch, createOutboundLines } from '../shared/outbound/outbound-fetch.ts';
import type { HandleJob, JobQueue } from '../shared/queue/job-queue.ts';
import {
  createProjectionProgress,
  type ProjectionProgress,
} from '../shared/follow-log/projection-progress.ts';
import type { SecretStore } from '../shared/secrets/secret-store.ts';
import { syndicatedKinds } from '../command/syndication/resource-kinds.ts';
import { outboundPolicyOf, type Config } from './config.ts';
import type { ReadinessPart } from '../shared/async/readiness.ts';
import type { Logger } from 'pino';
import { purgeRegularly, type Purgeable } from '../shared/async/purge-regularly.ts';
import { createPool } from '../shared/postgres/pool.ts';
import { startJobs, type RunningJobs } from '../shared/queue/running-jobs.ts';

export interface WorkerOptions {
  readonly config: Config;
  readonly databaseUrl: string;
  /** Sees the rows of all accounts. */
  readonly pool: Pool;
  readonly store: EventStore;
  readonly secrets: SecretStore;
  /** Rows of read models that this process has changed. */
  readonly changes: ProjectionProgress;
  /** Tables that grow, by what they hold. */
  readonly rows: Readonly<Record<string, Purgeable>>;
  readonly log: Logger;
  readonly registry: Registry;
}

/** The role `worker`: what is done outside of requests. A process without the role has one that does nothing. */
export interface Worker {
  readonly parts: readonly ReadinessPart[];
  /** To be called once the database is up to date. */
  start(): void;
  stop(): Promise<void>;
}

/** The worker of one process, as its configuration says. */
export const createWorker = (options: WorkerOptions): Worker => {
  const { config, databaseUrl, rows, log, registry } = options;
  if (!config.ROLES.includes('worker')) {
    return { parts: [], start: () => undefined, stop: async () => undefined };
  }
  const ending = new AbortController();
  // One for each table, and a few more; the usual warning is for more than ten.
  setMaxListeners(0, ending.signal);
  let jobs: RunningJobs | undefined;
  let feeds: Promise<void> | undefined;
  let checking: Promise<void> | undefined;
  const queue = (): JobQueue | undefined => jobs?.queue(SYNDICATION_QUEUE);
  const freed = createProjectionProgress();
  let submitting: Promise<void> | undefined;
  const workPool = createWorkPool(databaseUrl, log);
  const workList = createWorkList({ pool: workPool, freed: () => freed.advanced(WORK) });
  let offering: Promise<void> | undefined;
  createBacklogMetrics(registry, workPool);
  return {
    // Optional: nothing that a client asks for waits on a queue.
    parts: [
      {
        name: 'queue',
        optional: true,
        check: async () => (await jobs?.readiness()) ?? { ready: false, detail: 'not open yet' },
      },
    ],
    start: () => {
      const parts = { 'deliveries of audiences': createAudienceParts(options.pool) };
      for (const [what, table] of Object.entries({ ...rows, ...parts })) {
        purgeRegularly(what, table, log, ending.signal);
      }
      jobs = startJobs({
        store: { databaseUrl, redisUrl: config.REDIS_URL, redisKeyPrefix: config.REDIS_KEY_PREFIX },
        kinds: [
          {
            name: SYNDICATION_QUEUE,
            concurrency: CONCURRENCY,
            attemptsMax: ATTEMPTS_MAX,
            handle: jobsOf(options, workList, queue),
          },
        ],
        log,
        registry,
      });
      offering = offerWork({
        workList,
        queue,
        watch: watchOf(WORK, [options.changes, freed], ending.signal),
        log,
        signal: ending.signal,
      });
      submitting = submitLaunched({
        stores: storesOf(options),
        list: createSubmissionList(options.pool),
        watch: watchOf(SUBMISSIONS, [options.changes], ending.signal),
        log,
        signal: ending.signal,
      });
      feeds = readFeedsOf(options, ending.signal);
      checking = checkAgentsOf(options, ending.signal);
    },
    stop: async () => {
      ending.abort();
      // The queue closes after the last look: turns without jobs would be lost until they are offered again.
      await Promise.all([jobs?.stop(offering), offering, submitting, feeds, checking]);
      await workPool.end();
    },
  };
};

const SYNDICATION_QUEUE = 'syndication';
/** The read model that the list of work is part of. */
const WORK = 'syndication';
/** The same of what is to be submitted to sellers. */
const SUBMISSIONS = 'sellers';
/** Most of a job is waiting for an agent. Five times what one account may have under way: its slow agents keep nobody waiting. */
const CONCURRENCY = 50;
/** What fails without a word is offered again by the list of work. */
const ATTEMPTS_MAX = 1;
/** Of one try, whatever it is spent on. */
const AGENT_MS_MAX = 30_000;
const AGENT_BYTES_MAX = 1_000_000;

/** One look at the list of work, the turns that end meanwhile, and questions who else has something at an agent. */
const WORK_CONNECTIONS_MAX = 4;

/** The commits of turns do not wait for the disk: see `WorkListOptions`. */
const createWorkPool = (connectionString: string, log: Logger): Pool =>
  createPool(
    {
      connectionString,
      applicationName: 'exchange-work',
      max: WORK_CONNECTIONS_MAX,
      system: true,
      planOnce: true,
      asyncCommit: true,
    },
    log,
  );

const storesOf = ({ pool, store, log }: WorkerOptions) => ({
  store,
  snapshots: createSnapshotStore(pool, log),
  clock: systemClock,
});

const jobsOf = (options: WorkerOptions, workList: WorkList, queue: () => JobQueue | undefined): HandleJob => {
  const { config, pool, secrets } = options;
  const stores = storesOf(options);
  const openLine = createOutboundLines({
    ...outboundPolicyOf(config),
    timeoutMs: AGENT_MS_MAX,
    bytesMax: AGENT_BYTES_MAX,
  });
  return syndicationJobs({
    ...stores,
    secrets,
    kinds: syndicatedKinds(stores),
    workList,
    audienceParts: createAudienceParts(pool),
    // The client of agents takes time and memory to load: the first call does it.
    callAgent: async (call) => {
      const { createAdcpAgent } = await import('../command/workers/syndication/adcp-agent.ts');
      return createAdcpAgent({ openLine, callMs: AGENT_MS_MAX, clock: systemClock })(call);
    },
    queue,
  });
};

/** Of one feed, from its first byte to its last. */
const FEED_MS_MAX = 60_000;
const FEED_BYTES_MAX = 64 * 1024 * 1024;
/** The read model that is the list of feeds. */
const FEEDS = 'catalog-feeds';

const readFeedsOf = (
  { config, pool, store, changes, log }: WorkerOptions,
  signal: AbortSignal,
): Promise<void> => {
  const fetch = createOutboundFetch({
    ...outboundPolicyOf(config),
    timeoutMs: FEED_MS_MAX,
    bytesMax: FEED_BYTES_MAX,
  });
  return readFeeds({
    store,
    snapshots: createSnapshotStore(pool, log),
    clock: systemClock,
    fetchFeed: createFetchFeed(fetch),
    list: createFeedList(pool),
    watch: watchOf(FEEDS, [changes], signal),
    log,
    signal,
  });
};

/** For one check of an agent. No request waits for it. */
const CHECK_MS_MAX = 10_000;
/** The read model that the list of checks is part of. */
const AGENTS = 'agents';

const checkAgentsOf = (
  { config, pool, store, secrets, changes, log }: WorkerOptions,
  signal: AbortSignal,
): Promise<void> => {
  const openLine = createOutboundLines({
    ...outboundPolicyOf(config),
    timeoutMs: CHECK_MS_MAX,
    bytesMax: AGENT_BYTES_MAX,
  });
  return checkAgents({
    store,
    clock: systemClock,
    secrets,
    askCapabilities: async (agent, end) => {
      const { createAskCapabilities } = await import('../command/workers/syndication/ask-capabilities.ts');
      return createAskCapabilities(openLine, CHECK_MS_MAX)(agent, end);
    },
    list: createCheckList(pool),
    watch: watchOf(AGENTS, [changes], signal),
    log,
    signal,
  });
};

/**
 * Woken by new rows of a read model of this process, or by what its jobs have freed; by time alone where other processes
 * have them. Not by every event of the log that the read model passes over: each look costs statements.
 */
const watchOf =
  (list: string, sources: readonly ProjectionProgress[], signal: AbortSignal) =>
  (): ((ms: number) => Promise<void>) => {
    const seen = sources.map((source) => source.version(list));
    return (ms) => Promise.race(sources.map((source, n) => source.beyond(list, seen[n] ?? 0, ms, signal)));
  };
