import { EventStoreDBClient } from '@eventstore/db-client';
import { afterAll } from '@jest/globals';
import { disconnect, events } from '../support/eventstoredb/client-kit.ts';
import { startEventStoreService } from '../support/eventstoredb/event-store-service.ts';
import { findRealServer, type RealServer } from '../support/eventstoredb/real-server.ts';
import { eventStoreContract } from './event-store.contract.ts';
import { makeEventStoreDbOnService, openEventStoreDbStore } from './make-eventstoredb-store.ts';
import type { StoreUnderTest } from './make-store.ts';
import { subscribeContract } from './subscribe.contract.ts';

/** Other programs must not write to the server during the tests: a test's log begins at the current head. */
const makeOn =
  ({ url }: Pick<RealServer, 'url'>) =>
  async (): Promise<StoreUnderTest> => {
    const { store } = openEventStoreDbStore(url);
    return { store, start: await store.head(), dispose: () => store.close() };
  };

const printLine = (text: string): void => {
  process.stderr.write(`${text}\n`);
};

eventStoreContract('EventStoreDB (in memory)', () => makeEventStoreDbOnService());

const used = await startEventStoreService();
const others = EventStoreDBClient.connectionString(used.url);
for (let n = 0; n < 3; n += 1) await others.appendToStream('other-1', events(500));
await disconnect(others);
subscribeContract('EventStoreDB (in memory) that others have filled', makeOn(used));
afterAll(() => used.close());

const real = await findRealServer(printLine);
if (real !== undefined) {
  eventStoreContract('EventStoreDB', makeOn(real));
  afterAll(() => real.stop());
}
printLine(
  `EventStoreDB contract ran against: the in-memory service over real gRPC${real ? `, ${real.origin}` : ''}`,
);
