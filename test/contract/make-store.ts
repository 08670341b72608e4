import type { EventStore, Position } from '../../shared/event-store/event-store.ts';

/** A store over a log of its own and how to take it down again. */
export interface StoreUnderTest {
  readonly store: EventStore;
  /** Where the log ended when it was made: `START` of an empty one, the default. */
  readonly start?: Position;
  readonly dispose: () => Promise<void>;
}

export type MakeStore = () => Promise<StoreUnderTest>;
