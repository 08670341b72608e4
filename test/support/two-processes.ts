import { setImmediate } from 'node:timers/promises';
import type { SnapshotStore } from '../../shared/aggregate/snapshots.ts';
import type { EventStore } from '../../shared/event-store/event-store.ts';

export const noSnapshots: SnapshotStore = {
  every: 1_000_000,
  load: async () => undefined,
  save: () => undefined,
};

/**
 * The same log as another process uses it. Its store serializes only its own commands, and `pauses` delays each call,
 * so that two processes interleave in every order.
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
