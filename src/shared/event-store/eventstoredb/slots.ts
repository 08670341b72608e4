import { EventStoreUnavailableError } from '../event-store.ts';

/**
 * At most so many at once; who came first goes first.
 * @param waitMsMax how long this one waits for a slot at most
 */
export type TakeSlot = <T>(waitMsMax: number, work: () => Promise<T>) => Promise<T>;

export interface SlotLimits {
  readonly atOnceMax: number;
  readonly waitingMax: number;
}

/**
 * A bound on the calls under way on one connection: the server's bound on streams would make the others wait
 * where nobody counts the time.
 * @throws EventStoreUnavailableError when a limit is reached: `work` has not run and never will
 */
export const createSlots = ({ atOnceMax, waitingMax }: SlotLimits): TakeSlot => {
  const line = new Set<() => void>();
  let taken = 0;

  const enter = (waitMsMax: number): Promise<void> | undefined => {
    if (taken < atOnceMax) {
      taken += 1;
      return undefined;
    }
    if (line.size >= waitingMax) throw tooBusy();
    return new Promise((resolve, reject) => {
      const begin = (): void => {
        clearTimeout(timer);
        resolve();
      };
      const timer = setTimeout(() => {
        line.delete(begin);
        reject(tooBusy());
      }, waitMsMax);
      line.add(begin);
    });
  };

  const leave = (): void => {
    const [next] = line;
    if (next === undefined) taken -= 1;
    else {
      line.delete(next);
      next();
    }
  };

  return async (waitMsMax, work) => {
    await enter(waitMsMax);
    try {
      return await work();
    } finally {
      leave();
    }
  };
};

const tooBusy = (): EventStoreUnavailableError =>
  new EventStoreUnavailableError('too many appends are waiting for EventStoreDB');
