import { EventStoreUnavailableError } from '../event-store/event-store.ts';

/** Runs `work` when nothing else of that name runs; who came first goes first. */
export type TakeTurn = <T>(name: string, work: () => Promise<T>) => Promise<T>;

export interface TurnLimits {
  /** How long one waits for its turn at most. */
  readonly waitMsMax: number;
  /** Waiting for the same turn at most. */
  readonly waitingMax: number;
}

/**
 * One at a time by name, within this process.
 * @throws EventStoreUnavailableError when a limit is reached: `work` has not run and never will
 */
export const createTurns = ({ waitMsMax, waitingMax }: TurnLimits): TakeTurn => {
  /** Who waits behind the one whose turn it is; no entry when it is nobody's. */
  const lines = new Map<string, Set<() => void>>();

  const enter = (name: string): Promise<void> | undefined => {
    const line = lines.get(name);
    if (line === undefined) {
      lines.set(name, new Set());
      return undefined;
    }
    if (line.size >= waitingMax) throw tooBusy(name);
    return new Promise((resolve, reject) => {
      const begin = (): void => {
        clearTimeout(timer);
        resolve();
      };
      const timer = setTimeout(() => {
        line.delete(begin);
        reject(tooBusy(name));
      }, waitMsMax).unref();
      line.add(begin);
    });
  };

  const leave = (name: string): void => {
    const line = lines.get(name);
    const [next] = line ?? [];
    if (next === undefined) lines.delete(name);
    else {
      line?.delete(next);
      next();
    }
  };

  return async (name, work) => {
    await enter(name);
    try {
      return await work();
    } finally {
      leave(name);
    }
  };
};

const tooBusy = (name: string): EventStoreUnavailableError =>
  new EventStoreUnavailableError(`too many commands wait for ${name}`);
