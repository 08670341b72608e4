import { createWakeUp } from '../async/wake-up.ts';

export interface LogReach {
  /** The log may be longer. */
  readonly known: number;
  advance(position: number): void;
  wake(): void;
  /** Also resolves on `wake`, on abort and after `timeoutMs`. */
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
