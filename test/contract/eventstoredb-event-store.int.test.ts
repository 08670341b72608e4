import { eventStoreContract } from './event-store.contract.ts';
import {
  makeEventStoreDbOnService,
  openEventStoreDbStore,
  realServerUrl,
} from './make-eventstoredb-store.ts';
import type { StoreUnderTest } from './make-store.ts';

/** Nothing else may write to the server meanwhile: the tests' part of its log begins where the log ends now. */
const makeOnRealServer = async (): Promise<StoreUnderTest> => {
  const { store } = openEventStoreDbStore(realServerUrl);
  return { store, start: await store.head(), dispose: () => store.close() };
};

const isReal = realServerUrl !== '';
console.info(
  isReal
    ? 'EventStoreDB of this contract: the server that EVENTSTORE_URL names'
    : 'EventStoreDB of this contract: in memory, over real gRPC; set EVENTSTORE_URL for a real server',
);

eventStoreContract(
  isReal ? 'EventStoreDB' : 'EventStoreDB (in memory)',
  isReal ? makeOnRealServer : () => makeEventStoreDbOnService(),
);
