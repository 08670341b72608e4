import type { EventStore, Position } from '../../shared/event-store/event-store.ts';

/** A store on a log that other tests do not use, and how to dispose of it. */
export interface StoreUnderTest {
  readonly store: EventStore;
  /** The head when the store was made. Default: `START`, an empty log. */
  readonly start?: Position;
  readonly dispose: () => Promise<void>;
}

export type MakeStore = () => Promise<StoreUnderTest>;
