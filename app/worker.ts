import { setMaxListeners } from 'node:events';
import { join } from 'node:path';
import type { Pool } from 'pg';
import type { Registry } from 'prom-client';
import { createComposeMail } from '../command/accounts/compose-mail.ts';
import { createLinkTokenOf } from '../command/workers/mail/link-token.ts';
import { agentChecks } from '../command/workers/agent-checks/check-agents.ts';
import { createFetchFeed } from '../command/workers/catalog-feeds/fetch-feed.ts';
import { catalogFeeds } from '../command/workers/catalog-feeds/read-feed.ts';
import { createAudienceParts } from '../command/workers/syndication/audience-delivery.ts';
import { listLaunchedCreatives } from '../command/workers/sellers/list-launched.ts';
import { MAILS_AT_ONCE, mails, type ComposeMail } from '../command/workers/mail/send-mails.ts';
import { deliveryChanges } from '../command/workers/webhooks/change-rows.ts';
import { createKeptAnswers, type KeptAnswers } from '../command/workers/proposals/kept-answers.ts';
import { proposalEnds, proposalSellers } from '../command/workers/proposals/ask-sellers.ts';
import { sellerReports } from '../command/workers/reporting/ask-for-delivery.ts';
import { submissions } from '../command/workers/sellers/submit-launched.ts';
import { syndicationWork } from '../command/workers/syndication/syndication-work.ts';
import { systemClock } from '../shared/async/clock.ts';
import type { SnapshotStore } from '../shared/aggregate/snapshots.ts';
import type { EventStore } from '../shared/event-store/event-store.ts';
import { createOutboundFetch, createOutboundLines } from '../shared/outbound/outbound-fetch.ts';
import {
  createProjectionProgress,
  type ProjectionProgress,
} from '../shared/follow-log/projection-progress.ts';
import type { Mailer } from '../shared/mail/mailer.ts';
import { openMailer } from '../shared/mail/open-mailer.ts';
import type { KeyRing } from '../shared/secrets/key-ring.ts';
import type { SecretStore } from '../shared/secrets/secret-store.ts';
import type { ObjectStore } from '../shared/storage/object-store.ts';
import { syndicatedKinds } from '../command/syndication/resource-kinds.ts';
import { createAgentCaller, SELLER_BYTES_MAX } from './agent-caller.ts';
import { outboundPolicyOf, type Config } from './config.ts';
import { createDeliveryPages } from './delivery-pages.ts';
import { allProjections } from '../projections/all-projections.ts';
import { createAtAgents, isWhole } from './lookups/find-at-agents.ts';
import { findInvitation } from './lookups/find-invitation.ts';
import { findLogin } from './lookups/find-login.ts';
import { findAudienceMembers } from './lookups/find-members.ts';
import { findSellerReferences } from './lookups/find-seller-references.ts';
import { isFanOutWhole } from './lookups/fan-out-whole.ts';
import { launchedCreatives } from './lookups/launched-creatives.ts';
import type { ReadinessPart } from '../shared/async/readiness.ts';
import type { Logger } from 'pino';
import { purgeRegularly, type Purgeable } from '../shared/async/purge-regularly.ts';
import { createPool } from '../shared/postgres/pool.ts';
import { startJobs, type JobStore, type RunningJobs } from '../shared/queue/running-jobs.ts';
import { namesOf, offerWork, workJobs, type WorkKind } from '../shared/work-list/run-work.ts';
import { createWorkList, type WorkList } from '../shared/work-list/work-list.ts';
import { createWebhookWork } from './webhook-work.ts';
import { createWorkMetrics } from '../shared/work-list/work-metrics.ts';

export interface WorkerOptions {
  readonly config: Config;
  readonly databaseUrl: string;
  /** Sees the rows of all accounts. */
  readonly pool: Pool;
  readonly requestPool: Pool;
  readonly store: EventStore;
  readonly snapshots: SnapshotStore;
  readonly keys: () => Promise<KeyRing>;
  readonly secrets: SecretStore;
  readonly objects: ObjectStore;
  readonly baseUrl: () => string;
  readonly changes: ProjectionProgress;
  /** Expired data that the worker deletes regularly. The names are for the log. */
  readonly purged: Readonly<Record<string, Purgeable>>;
  readonly log: Logger;
  readonly registry: Registry;
  readonly replace: { readonly composeMail?: ComposeMail };
}

export interface Worker {
  readonly parts: readonly ReadinessPart[];
  /** Where its jobs are, for the board of queues. Undefined without the role `worker`. */
  readonly queues: { readonly store: JobStore; readonly names: readonly string[] } | undefined;
  start(): void;
  stop(): Promise<void>;
}

export const createWorker = (options: WorkerOptions): Worker => {
  const { config, databaseUrl, purged, log, registry } = options;
  if (!config.ROLES.includes('worker')) {
    return { parts: [], queues: undefined, start: () => undefined, stop: async () => undefined };
  }
  const ending = new AbortController();
  // One listener for each purge, and a few more; Node.js warns above ten.
  setMaxListeners(0, ending.signal);
  let jobs: RunningJobs | undefined;
  let offering: Promise<void> | undefined;
  const freed = createProjectionProgress();
  const workPool = createWorkPool(databaseUrl, log);
  const mailer = mailerOf(options);
  const webhooks = createWebhookWork(options, workPool, ending.signal);
  const kinds = [...workKindsOf(options, workPool, mailer), webhooks.kind];
  const list = freeing(createWorkList(workPool), () => freed.advanced(FREED));
  createWorkMetrics(registry, workPool, kinds.flatMap(namesOf));
  const store = { databaseUrl, redisUrl: config.REDIS_URL, redisKeyPrefix: config.REDIS_KEY_PREFIX };
  return {
    queues: { store, names: kinds.map(({ name }) => name) },
    // Optional: nothing that a client asks for waits on a queue.
    parts: [
      {
        name: 'queue',
        optional: true,
        check: async () => (await jobs?.readiness()) ?? { ready: false, detail: 'not open yet' },
      },
    ],
    start: () => {
      const parts = {
        'answers of sellers': answersOf(options),
        'deliveries of audiences': createAudienceParts(options.pool, findAudienceMembers(options.pool)),
      };
      for (const [what, table] of Object.entries({ ...purged, ...parts })) {
        purgeRegularly(what, table, log, ending.signal);
      }
      jobs = startJobs({
        store,
        kinds: workJobs(kinds, list, log),
        log,
        registry,
      });
      offering = offerWork({
        kinds,
        list,
        queue: (kind) => jobs?.queue(kind),
        watch: watchOf(options.changes, freed, ending.signal),
        log,
        signal: ending.signal,
      });
    },
    stop: async () => {
      ending.abort();
      // The queues close after the last offer: entries without jobs would wait until their leases end.
      await Promise.all([jobs?.stop(offering), offering]);
      await Promise.all([workPool.end(), mailer.close(), webhooks.close()]);
    },
  };
};

const FREED = 'freed';
const AGENT_MS_MAX = 30_000;
const AGENT_BYTES_MAX = 1_000_000;

/** For offers of due entries, results of runs, queries for other holders of a resource at an agent, and webhooks. */
const WORK_CONNECTIONS_MAX = 6;

/** Its commits do not wait for the disk: see `createWorkList`. */
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

const storesOf = ({ store, snapshots }: WorkerOptions) => ({ store, snapshots, clock: systemClock });

const workKindsOf = (options: WorkerOptions, workPool: Pool, mailer: Mailer): readonly WorkKind[] => [
  syndicationOf(options, workPool),
  submissions(storesOf(options), () => listLaunchedCreatives(options.pool, launchedCreatives)),
  proposalsOf(options),
  proposalEnds(storesOf(options)),
  reportsOf(options, workPool),
  feedsOf(options),
  checksOf(options),
  mailsOf(options, mailer),
  deliveryChanges({
    pages: createDeliveryPages(workPool),
    clock: systemClock,
    isWhole: () => isFanOutWhole(workPool),
  }),
];

const mailsOf = (options: WorkerOptions, mailer: Mailer): WorkKind => {
  const { secrets, pool, keys, baseUrl, log, replace } = options;
  const compose = createComposeMail({
    pool,
    findLogin: findLogin(pool),
    findInvitation: findInvitation(pool),
    linkTokenOf: createLinkTokenOf(keys),
    baseUrl,
  });
  return mails({ secrets, mailer, compose: replace.composeMail ?? compose, log });
};

const mailerOf = ({ config, log }: WorkerOptions): Mailer =>
  openMailer({
    server: config.SMTP_URL,
    from: config.MAIL_FROM,
    outboxFolder: join(config.DATA_DIR, 'outbox'),
    connectionsMax: MAILS_AT_ONCE,
    log,
  });

const syndicationOf = (options: WorkerOptions, workPool: Pool): WorkKind => {
  const { config, pool, secrets } = options;
  const stores = storesOf(options);
  return syndicationWork(
    {
      ...stores,
      secrets,
      kinds: syndicatedKinds(stores),
      atAgents: createAtAgents(workPool),
      audienceParts: createAudienceParts(pool, findAudienceMembers(pool)),
      callAgent: createAgentCaller(config, { callMs: AGENT_MS_MAX, bytesMax: AGENT_BYTES_MAX }),
    },
    () => isWhole(workPool),
  );
};

const answersOf = ({ pool, objects, config }: WorkerOptions): KeptAnswers =>
  createKeptAnswers({ pool, objects, days: config.PROPOSAL_ANSWER_DAYS });

const proposalsOf = (options: WorkerOptions): WorkKind => {
  const { config, secrets } = options;
  const callMs = Math.max(AGENT_MS_MAX, config.PROPOSAL_SELLER_MS);
  return proposalSellers({
    ...storesOf(options),
    secrets,
    answers: answersOf(options),
    callAgent: createAgentCaller(config, { callMs, bytesMax: SELLER_BYTES_MAX }),
  });
};

const reportsOf = (options: WorkerOptions, workPool: Pool): WorkKind => {
  const { config, secrets } = options;
  return sellerReports({
    ...storesOf(options),
    secrets,
    everyMs: 1_000 * config.DELIVERY_REPORT_SECONDS,
    findReferences: findSellerReferences(workPool),
    callAgent: createAgentCaller(config, { callMs: AGENT_MS_MAX, bytesMax: SELLER_BYTES_MAX }),
  });
};

const FEED_MS_MAX = 60_000;
const FEED_BYTES_MAX = 64 * 1024 * 1024;

const feedsOf = (options: WorkerOptions): WorkKind => {
  const fetch = createOutboundFetch({
    ...outboundPolicyOf(options.config),
    timeoutMs: FEED_MS_MAX,
    bytesMax: FEED_BYTES_MAX,
  });
  return catalogFeeds({ ...storesOf(options), fetchFeed: createFetchFeed(fetch) });
};

/** For one check of an agent. No request waits for it. */
const CHECK_MS_MAX = 10_000;

const checksOf = ({ config, store, secrets }: WorkerOptions): WorkKind => {
  const openLine = createOutboundLines({
    ...outboundPolicyOf(config),
    timeoutMs: CHECK_MS_MAX,
    bytesMax: AGENT_BYTES_MAX,
  });
  return agentChecks({
    store,
    clock: systemClock,
    secrets,
    askCapabilities: async (agent, end) => {
      const { createAskCapabilities } = await import('../command/workers/syndication/ask-capabilities.ts');
      return createAskCapabilities(openLine, CHECK_MS_MAX)(agent, end);
    },
  });
};

/** Signals when this process ends a lease: other work of the same account may then be offered. */
const freeing = (list: WorkList, freed: () => void): WorkList => ({
  ...list,
  settle: async (...end) => {
    await list.settle(...end);
    freed();
  },
});

/** Resolves when this process adds entries or ends a lease, or after the time. Each event would be too often. */
const watchOf =
  (changes: ProjectionProgress, freed: ProjectionProgress, signal: AbortSignal) =>
  (): ((ms: number) => Promise<void>) => {
    const asking = allProjections.filter(({ work = [] }) => work.length > 0);
    const sources = [
      ...asking.map(({ name }) => ({ source: changes, of: name })),
      { source: freed, of: FREED },
    ].map(({ source, of }) => ({ source, of, seen: source.version(of) }));
    return (ms) => Promise.race(sources.map(({ source, of, seen }) => source.beyond(of, seen, ms, signal)));
  };
