import { createWakeUp } from '../async/wake-up.ts';

/** How far a log is known to reach, and who waits for more. One for each store of a process. */
export interface LogReach {
  /** The highest known position; the log may be longer. */
  readonly known: number;
  /** Records that the log reaches `position`. */
  advance(position: number): void;
  /** Something may have been missed: every waiter should look at the log. */
  wake(): void;
  /** Resolves when the log is known to reach beyond `position`, on `wake`, on abort, after `timeoutMs`. */
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
