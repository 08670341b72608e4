import type { Pool } from 'pg';
import { openBackbone } from '../../src/composition.ts';
import { createAccount } from '../../src/operator/create-account.ts';
import { startService } from '../../src/service.ts';
import { readConfig } from '../../src/shared/config.ts';
import {
  START,
  type EventStore,
  type Position,
  type RecordedEvent,
} from '../../src/shared/event-store/event-store.ts';
import { createLog, type Logger } from '../../src/shared/log.ts';
import { apiOf, type Api } from './api-client.ts';
import { startEventStoreService } from './eventstoredb/event-store-service.ts';
import { createInvariantCheck } from './answer-invariants.ts';
import { createResponseCheck } from './response-check.ts';
import { createTestDatabase } from './test-database.ts';

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
  /** To look behind the answers, and to bring about what no route can. */
  readonly store: EventStore;
  readonly pool: Pool;
  openAccount(name?: string): Promise<TestAccount>;
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

/** `TEST_EVENTSTORE=in-memory`: every service gets an EventStoreDB of its own, in memory and over real gRPC. */
const isOnEventStoreDb = (): boolean => process.env['TEST_EVENTSTORE'] === 'in-memory';

/** The service as it ships, in this process, on a free port and a fresh database of its own. */
export const startRunningService = async (
  settings: Readonly<Record<string, string>> = {},
  log: Logger = createLog('silent'),
): Promise<RunningService> => {
  const database = await createTestDatabase();
  const eventStore = isOnEventStoreDb() ? await startEventStoreService() : undefined;
  const declared = createResponseCheck();
  const invariant = createInvariantCheck();
  const config = readConfig({
    NODE_ENV: 'test',
    PORT: '0',
    LOG_LEVEL: 'silent',
    DATABASE_URL: database.url,
    ...(eventStore === undefined ? {} : { EVENTSTORE_URL: eventStore.url }),
    ...settings,
  });
  const service = await startService(config, log, (route, status, text) => {
    declared.onAnswer(route, status, text);
    invariant.onAnswer(route, status, text);
  });
  await service.prepared;
  const { store, pool } = service.backbone;
  let ended: Promise<void> | undefined;
  const end = (): Promise<void> => (ended ??= service.stop());
  return {
    baseUrl: service.baseUrl,
    port: Number(new URL(service.baseUrl).port),
    databaseUrl: database.url,
    store,
    pool,
    openAccount: async (name = 'Test account') => {
      const { customerId, apiKey } = await createAccount(service.backbone, name);
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
      const other = await openBackbone(config, 'exchange-test', log);
      try {
        return await wholeLog(other.store);
      } finally {
        await other.close();
      }
    },
    end,
    stop: async () => {
      await end();
      await eventStore?.close();
      await database.drop();
      const problems = [...declared.problems, ...invariant.problems];
      if (problems.length > 0) throw new Error(`answers that are not as declared:\n${problems.join('\n')}`);
    },
  };
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
