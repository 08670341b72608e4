import { afterAll, beforeAll } from '@jest/globals';
import type { EventStore } from '../../src/shared/event-store/event-store.ts';
import type { MakeStore, StoreUnderTest } from './make-store.ts';

/** One store for the tests of a `describe`. */
export const useStore = (makeStore: MakeStore): (() => EventStore) => {
  let made: StoreUnderTest | undefined;
  beforeAll(async () => {
    made = await makeStore();
  });
  afterAll(async () => {
    await made?.dispose();
  });
  return () => {
    if (made === undefined) throw new Error('the store is made before the first test');
    return made.store;
  };
};
