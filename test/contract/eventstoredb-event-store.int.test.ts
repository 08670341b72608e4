import { afterAll } from '@jest/globals';
import { findRealServer, type RealServer } from '../support/eventstoredb/real-server.ts';
import { eventStoreContract } from './event-store.contract.ts';
import { makeEventStoreDbOnService, openEventStoreDbStore } from './make-eventstoredb-store.ts';
import type { StoreUnderTest } from './make-store.ts';

/** Nothing else may write to the server meanwhile: the tests' part of its log begins where the log ends now. */
const makeOn =
  ({ url }: RealServer) =>
  async (): Promise<StoreUnderTest> => {
    const { store } = openEventStoreDbStore(url);
    return { store, start: await store.head(), dispose: () => store.close() };
  };

const say = (text: string): void => {
  process.stderr.write(`${text}\n`);
};

eventStoreContract('EventStoreDB (in memory)', () => makeEventStoreDbOnService());

const real = await findRealServer(say);
if (real !== undefined) {
  eventStoreContract('EventStoreDB', makeOn(real));
  afterAll(() => real.stop());
}
say(
  `EventStoreDB contract ran against: the in-memory service over real gRPC${real ? `, ${real.origin}` : ''}`,
);
