import { createWakeUp } from '../async/wake-up.ts';

/** The highest known position of a store's log. Wakes readers that wait for a later one. */
export interface LogReach {
  /** The highest known position; the log may be longer. */
  readonly known: number;
  advance(position: number): void;
  /** Wakes all waiting readers, because a notification may have been missed. */
  wake(): void;
  /** Resolves when the log is known to reach beyond `position`, on `wake`, on abort, or after `timeoutMs`. */
  beyond(position: number, timeoutMs: number, signal: AbortSignal): Promise<void>;
}

export const createLogReach = (): LogReach => {
  const change = createWakeUp();
  let known = 0;
  return {
    get known() {
      return known;
    },
    wake: change.wake,
    advance: (position) => {
      if (position <= known) return;
      known = position;
      change.wake();
    },
    beyond: async (position, timeoutMs, signal) => {
      if (known <= position) await change.next({ timeoutMs, signal });
    },
  };
};
