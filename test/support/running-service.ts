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
  readonly databaseUrl: string;
  /** The settings that name its stores: for another process of the same installation. */
  readonly stores: Readonly<Record<string, string>>;
  /** Its part of the Redis, if it uses one. */
  readonly redis: TestRedis | undefined;
  /** To look behind the answers, and to bring about what no route can. */
  readonly store: EventStore;
  readonly pool: Pool;
  openAccount(name?: string): Promise<TestAccount>;
  /** Its `DATA_DIR`. */
  readonly dataDir: string;
  /** The same installation as the operator's commands see it. */
  readonly installation: Installation;
  /** The events of a stream, oldest first. */
  eventsOf(stream: string): Promise<readonly RecordedEvent[]>;
  /** An account's events in the whole log, oldest first. */
  eventsOfAccount(account: TestAccount): Promise<readonly RecordedEvent[]>;
  /** The whole log, read as another process reads it, also after `end`. */
  readLog(): Promise<readonly RecordedEvent[]>;
  /** Ends the service as SIGTERM does; its database stays until `stop`. */
  end(): Promise<void>;
  /**
   * Ends the service and drops its database.
   * @throws Error when an answer of any route, to any request, did not fit its declaration or its invariants
   */
  stop(): Promise<void>;
}

/**
 * The service as it ships, in this process, on a free port and with fresh stores of its own.
 * @param eventsIn as of `createTestStores`; calls to the stores have all the time that a busy machine may need, but
 *   with an `EVENTSTORE_URL` of the test's own
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
    // Most agents of tests are names that lead nowhere.
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
    databaseUrl: stores.settings.DATABASE_URL,
    stores: stores.settings,
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
      if (problems.length > 0) throw new Error(`answers that are not as declared:\n${problems.join('\n')}`);
    },
  };
};

const OPENINGS_MAX = 10;

/** A log that is not reached in time, on a machine that is busy with other tests, has taken nothing: asked again. */
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
