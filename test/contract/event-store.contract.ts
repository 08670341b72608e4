import { appendContract } from './append.contract.ts';
import { orderUnderLoadContract } from './order-under-load.contract.ts';
import type { MakeStore } from './make-store.ts';
import { readContract } from './read.contract.ts';
import { subscribeContract } from './subscribe.contract.ts';

/** Tests every promise of the port `event-store.ts`. Every adapter runs them. */
export const eventStoreContract = (name: string, makeStore: MakeStore): void => {
  appendContract(name, makeStore);
  readContract(name, makeStore);
  subscribeContract(name, makeStore);
  orderUnderLoadContract(name, makeStore);
};
