import { afterAll, beforeAll } from '@jest/globals';
import { START, type EventStore, type Position } from '../../shared/event-store/event-store.ts';
import type { MakeStore, StoreUnderTest } from './make-store.ts';

export interface UseStore {
  (): EventStore;
  /** The head before the first test. */
  start(): Position;
}

/** Opens one store for the tests of a `describe`. */
export const useStore = (makeStore: MakeStore): UseStore => {
  let made: StoreUnderTest | undefined;
  beforeAll(async () => {
    made = await makeStore();
  });
  afterAll(async () => {
    await made?.dispose();
  });
  const current = (): StoreUnderTest => {
    if (made === undefined) throw new Error('the store is made before the first test');
    return made;
  };
  return Object.assign(() => current().store, { start: () => current().start ?? START });
};
