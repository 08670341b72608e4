import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Pool } from 'pg';
import { openInstallation, type Installation } from '../../app/installation.ts';
import { createAccount } from '../../app/create-account.ts';
import { startService, type Replacements } from '../../app/service.ts';
import { readConfig } from '../../app/config.ts';
import {
  EventStoreUnavailableError,
  START,
  type EventStore,
  type Position,
  type RecordedEvent,
} from '../../shared/event-store/event-store.ts';
import type { Logger } from 'pino';
import { createLog } from '../../app/log.ts';
import { operatorStoreTimeouts, requestStoreTimeouts } from '../../app/store-timeouts.ts';
import { apiOf, type Api } from './api-client.ts';
import { createInvariantCheck } from './answer-invariants.ts';
import type { EventStoreProcess } from './eventstoredb/event-store-process.ts';
import { generousLimits } from './generous-limits.ts';
import { createResponseCheck } from './response-check.ts';
import type { TestRedis } from './test-redis.ts';
import { createTestStores, type EventsIn } from './test-stores.ts';

export interface TestAccount {
  readonly customerId: number;
  readonly apiKey: string;
  /** Calls the service as this account. */
  readonly api: Api;
}

export interface RunningService {
  readonly baseUrl: string;
  readonly port: number;
  /** Where operators ask it: no credential. */
  readonly operatorUrl: string;
  /** Its metrics, in the Prometheus text format. */
  metrics(): Promise<string>;
  readonly databaseUrl: string;
  /** The settings of its stores, for another process of the same installation. */
  readonly stores: Readonly<Record<string, string>>;
  /** The EventStoreDB in memory that has its events, if any. */
  readonly eventStore: EventStoreProcess | undefined;
  /** The part of Redis that it uses, if any. */
  readonly redis: TestRedis | undefined;
  /** For assertions beyond the answers, and for changes that no route can make. */
  readonly store: EventStore;
  readonly pool: Pool;
  openAccount(name?: string): Promise<TestAccount>;
  /** Its `DATA_DIR`. */
  readonly dataDir: string;
  /** The same installation, as an operator's command opens it. */
  readonly installation: Installation;
  /** The events of a stream, oldest first. */
  eventsOf(stream: string): Promise<readonly RecordedEvent[]>;
  /** An account's events in the whole log, oldest first. */
  eventsOfAccount(account: TestAccount): Promise<readonly RecordedEvent[]>;
  /** The whole log, as another process reads it. Also available after `end`. */
  readLog(): Promise<readonly RecordedEvent[]>;
  /** Ends the service as SIGTERM does. Its database remains until `stop`. */
  end(): Promise<void>;
  /**
   * Ends the service and drops its database.
   * @throws Error if any answer differed from its declaration or broke an invariant
   */
  stop(): Promise<void>;
}

/**
 * The shipped service in this process, on a free port and with its own new stores.
 * @param eventsIn as for `createTestStores`. Calls to the stores have timeouts for a busy machine, unless the test sets
 *   its own `EVENTSTORE_URL`
 */
export const startRunningService = async (
  settings: Readonly<Record<string, string>> = {},
  log: Logger = createLog('silent'),
  replace: Replacements = {},
  eventsIn?: EventsIn,
): Promise<RunningService> => {
  const stores = await createTestStores(eventsIn);
  const dataDir = await mkdtemp(join(tmpdir(), 'exchange-test-'));
  const declared = createResponseCheck();
  const invariant = createInvariantCheck();
  const config = readConfig({
    NODE_ENV: 'test',
    PORT: '0',
    LOG_LEVEL: 'silent',
    DATA_DIR: dataDir,
    ...stores.settings,
    SECRET_KEYS: `test:${'A'.repeat(43)}`,
    // Most agents in tests have names that do not resolve.
    AGENT_CHECK_MS: '0',
    ...generousLimits,
    ...settings,
  });
  const service = await startService(
    config,
    log,
    (route, status, text, headers) => {
      declared.onAnswer(route, status, text);
      invariant.onAnswer(route, status, text, headers);
    },
    {
      storeTimeouts:
        stores.settings['EVENTSTORE_URL'] !== undefined
          ? operatorStoreTimeouts
          : { ...operatorStoreTimeouts, calls: requestStoreTimeouts.calls },
      ...replace,
    },
  );
  await service.prepared;
  const { store, pool } = service.installation;
  let ended: Promise<void> | undefined;
  const end = (): Promise<void> => (ended ??= service.stop());
  return {
    baseUrl: service.baseUrl,
    port: Number(new URL(service.baseUrl).port),
    operatorUrl: service.operatorUrl,
    metrics: async () => (await fetch(`${service.operatorUrl}/metrics`)).text(),
    databaseUrl: stores.settings.DATABASE_URL,
    stores: stores.settings,
    eventStore: stores.eventStore,
    redis: stores.redis,
    dataDir: config.DATA_DIR,
    installation: service.installation,
    store,
    pool,
    openAccount: async (name = 'Test account') => {
      const { customerId, apiKey } = await openedWhenReached(service.installation, name);
      invariant.neverShow(apiKey);
      return { customerId, apiKey, api: apiOf(service.baseUrl, { Authorization: `Bearer ${apiKey}` }) };
    },
    eventsOf: async (stream) => {
      const events: RecordedEvent[] = [];
      for await (const event of store.readStream(stream)) events.push(event);
      return events;
    },
    eventsOfAccount: async ({ customerId }) =>
      (await wholeLog(store)).filter(({ metadata }) => metadata.customerId === customerId),
    readLog: async () => {
      const other = await openInstallation(config, 'exchange-test', log, operatorStoreTimeouts);
      try {
        return await wholeLog(other.store);
      } finally {
        await other.close();
      }
    },
    end,
    stop: async () => {
      await end();
      await stores.drop();
      await rm(dataDir, { recursive: true, force: true });
      const problems = [...declared.problems, ...invariant.problems];
      if (problems.length > 0)
        throw new Error(`answers that differ from their declarations:\n${problems.join('\n')}`);
    },
  };
};

const OPENINGS_MAX = 10;

/** Retries if the log does not answer in time on a busy machine: nothing was written then. */
const openedWhenReached = async (
  installation: Installation,
  name: string,
): ReturnType<typeof createAccount> => {
  for (let tries = 1; ; tries += 1) {
    try {
      return await createAccount(installation, name);
    } catch (error) {
      if (!(error instanceof EventStoreUnavailableError) || tries === OPENINGS_MAX) throw error;
    }
  }
};

const wholeLog = async (store: EventStore): Promise<readonly RecordedEvent[]> => {
  const events: RecordedEvent[] = [];
  for (let after: Position = START; ;) {
    const page = await store.readAll({ after, limit: 1_000 });
    const last = page.at(-1);
    if (last === undefined) return events;
    events.push(...page);
    after = last.position;
  }
};
