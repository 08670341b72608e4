import type { EventStore } from '../../src/shared/event-store/event-store.ts';

/** A store over a log of its own, empty when it is made, and how to take it down again. */
export interface StoreUnderTest {
  readonly store: EventStore;
  readonly dispose: () => Promise<void>;
}

export type MakeStore = () => Promise<StoreUnderTest>;
