import { startEventStoreProcess, type EventStoreProcess } from './eventstoredb/event-store-process.ts';
import { createTestDatabase } from './test-database.ts';
import { createTestRedis, type TestRedis } from './test-redis.ts';

export type EventsIn = 'postgres' | 'eventstoredb';

/** The stores of one installation: fresh, and of its own. */
export interface TestStores {
  /** The service's settings that name them. */
  readonly settings: Readonly<Record<string, string>> & { readonly DATABASE_URL: string };
  /** In memory, over real gRPC, in a process of its own; undefined with the events in Postgres. */
  readonly eventStore: EventStoreProcess | undefined;
  /** Keys of its own, on the Redis of `REDIS_URL`; undefined without. */
  readonly redis: TestRedis | undefined;
  drop(): Promise<void>;
}

/** @param events default: in Postgres, or with `TEST_EVENTSTORE=in-memory` in EventStoreDB */
export const createTestStores = async (events: EventsIn = eventsInByDefault()): Promise<TestStores> => {
  const database = await createTestDatabase();
  const eventStore = events === 'eventstoredb' ? await startEventStoreProcess() : undefined;
  const redisUrl = process.env['REDIS_URL'] ?? '';
  const redis = redisUrl === '' ? undefined : createTestRedis(redisUrl);
  return {
    settings: {
      DATABASE_URL: database.url,
      ...(eventStore && { EVENTSTORE_URL: eventStore.url }),
      ...(redis && { REDIS_URL: redis.url, REDIS_KEY_PREFIX: redis.keyPrefix }),
    },
    eventStore,
    redis,
    drop: async () => {
      await eventStore?.stop();
      await redis?.clear();
      await database.drop();
    },
  };
};

const eventsInByDefault = (): EventsIn =>
  process.env['TEST_EVENTSTORE'] === 'in-memory' ? 'eventstoredb' : 'postgres';

/** For the lines that a run prints. */
export const describeStores = ({ eventStore, redis }: TestStores): string =>
  `events in ${eventStore ? 'EventStoreDB (in memory, over gRPC)' : 'Postgres'}, ` +
  `limits in ${redis ? 'Redis' : 'Postgres'}`;
