import { nodeCommand, startEventStoreNodes, type EventStoreNodes } from './eventstoredb/event-store-nodes.ts';
import { startEventStoreProcess, type EventStoreProcess } from './eventstoredb/event-store-process.ts';
import { createTestDatabase } from './test-database.ts';
import { createTestRedis, type TestRedis } from './test-redis.ts';

export type EventsIn = 'postgres' | 'eventstoredb';

/** New stores for one installation. */
export interface TestStores {
  /** The service's settings for these stores. */
  readonly settings: Readonly<Record<string, string>> & { readonly DATABASE_URL: string };
  /** An EventStoreDB in memory in a separate process, over real gRPC; undefined if the events are elsewhere. */
  readonly eventStore: EventStoreProcess | undefined;
  /** Nodes that `EVENTSTORE_COMMAND` started, which store the events; undefined if the events are elsewhere. */
  readonly nodes: EventStoreNodes | undefined;
  /** A separate key prefix on the Redis of `REDIS_URL`, if it is used. */
  readonly redis: TestRedis | undefined;
  drop(): Promise<void>;
}

/**
 * @param events default: in Postgres, or with `TEST_EVENTSTORE` in EventStoreDB. That is one in memory, or with
 *   `TEST_EVENTSTORE=command` one that `EVENTSTORE_COMMAND` starts
 * @param nodeCount of an EventStoreDB that `EVENTSTORE_COMMAND` starts
 */
export const createTestStores = async (
  events: EventsIn = eventsInByDefault(),
  nodeCount = 1,
): Promise<TestStores> => {
  const database = await createTestDatabase();
  const command = events === 'eventstoredb' ? realCommand() : undefined;
  const nodes = command === undefined ? undefined : await startEventStoreNodes(command, nodeCount);
  const isInMemory = events === 'eventstoredb' && nodes === undefined;
  const eventStore = isInMemory ? await startEventStoreProcess() : undefined;
  const eventStoreUrl = (nodes ?? eventStore)?.url;
  const redisUrl = process.env['REDIS_URL'] ?? '';
  const redis = redisUrl === '' ? undefined : createTestRedis(redisUrl);
  return {
    settings: {
      DATABASE_URL: database.url,
      ...(eventStoreUrl !== undefined && { EVENTSTORE_URL: eventStoreUrl }),
      ...(redis && { REDIS_URL: redis.url, REDIS_KEY_PREFIX: redis.keyPrefix }),
    },
    eventStore,
    nodes,
    redis,
    drop: async () => {
      await nodes?.stop();
      await eventStore?.stop();
      await redis?.clear();
      await database.drop();
    },
  };
};

const eventsInByDefault = (): EventsIn =>
  (process.env['TEST_EVENTSTORE'] ?? '') === '' ? 'postgres' : 'eventstoredb';

/** @throws Error with `TEST_EVENTSTORE=command` and no command */
const realCommand = (): string | undefined => {
  if (process.env['TEST_EVENTSTORE'] !== 'command') return undefined;
  const command = nodeCommand();
  if (command === undefined) throw new Error('TEST_EVENTSTORE=command needs EVENTSTORE_COMMAND');
  return command;
};

/** For the output of a run. */
export const describeStores = ({ eventStore, nodes, redis }: TestStores): string =>
  `events in ${describeEvents(eventStore, nodes)}, limits in ${redis ? 'Redis' : 'Postgres'}`;

const describeEvents = (eventStore: TestStores['eventStore'], nodes: TestStores['nodes']): string => {
  if (eventStore !== undefined) return 'EventStoreDB (in memory, over gRPC)';
  return nodes === undefined
    ? 'Postgres'
    : `EventStoreDB (${nodes.nodes.length} nodes of EVENTSTORE_COMMAND)`;
};
