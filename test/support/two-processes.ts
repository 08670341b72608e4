import { setImmediate } from 'node:timers/promises';
import type { SnapshotStore } from '../../shared/aggregate/snapshots.ts';
import type { EventStore } from '../../shared/event-store/event-store.ts';

export const noSnapshots: SnapshotStore = {
  every: 1_000_000,
  load: async () => undefined,
  save: () => undefined,
};

/**
 * The same log as another process sees it: commands take turns within a store of their own, and every call takes a
 * while that `pauses` says, so that two processes meet in every order.
 */
export const processOf = (store: EventStore, pauses: () => number): EventStore => {
  const pause = async (): Promise<void> => {
    for (let left = pauses(); left > 0; left -= 1) await setImmediate();
  };
  return {
    ...store,
    readStream: async function* (...asked) {
      await pause();
      yield* store.readStream(...asked);
    },
    append: async (...asked) => {
      await pause();
      return store.append(...asked);
    },
  };
};
