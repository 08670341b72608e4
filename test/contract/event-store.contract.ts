import { appendContract } from './append.contract.ts';
import { orderUnderLoadContract } from './order-under-load.contract.ts';
import type { MakeStore } from './make-store.ts';
import { readContract } from './read.contract.ts';
import { subscribeContract } from './subscribe.contract.ts';

/** What `event-store.ts` promises, sentence by sentence. Every adapter runs it. */
export const eventStoreContract = (name: string, makeStore: MakeStore): void => {
  appendContract(name, makeStore);
  readContract(name, makeStore);
  subscribeContract(name, makeStore);
  orderUnderLoadContract(name, makeStore);
};
