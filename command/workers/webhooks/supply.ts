import { failpoint } from '../../../shared/async/failpoints.ts';
import type { DeliveryRows, DueDelivery, Run } from './delivery-rows.ts';

export interface SupplyOptions {
  readonly rows: Pick<DeliveryRows, 'due'>;
  readonly run: Run;
  /** The endpoint's. Deliveries are not handed out once it has another one. */
  readonly revision: string;
  /** Time in which deliveries are handed out. */
  readonly runMs: number;
  /** It waits that long for further deliveries after the last one. */
  readonly lingerMs: () => number;
  /** Resolves when the fan-out has written something in this process, or after the time. */
  readonly whenMore: (ms: number) => Promise<void>;
  readonly isEnding: () => boolean;
}

/** The deliveries of one run, read before they are needed. */
export interface Supply {
  /** @param countMax to read at once @returns undefined at the end */
  next(countMax?: number): Promise<DueDelivery | undefined>;
  isOpen(): boolean;
  /** No more are handed out. */
  end(): void;
  /** Its outcome is stored. */
  settled(delivery: DueDelivery): void;
}

/** A fast endpoint needs few statements. */
const READ_MAX = 64;
const READ_BELOW = 24;
const POLL_MS = 25;

export const createSupply = (options: SupplyOptions): Supply => {
  const { rows, run, revision, runMs, lingerMs, whenMore, isEnding } = options;
  const endAt = performance.now() + runMs;
  const queue: DueDelivery[] = [];
  /** Ids of those that are still due in the table. */
  const handled = new Set<string>();
  let [isOver, isDrained] = [false, false];
  let lastFoundAt = performance.now();
  let reading: Promise<number> | undefined;
  let waiting: Promise<void> | undefined;

  const isOpen = (): boolean => !isOver && !isEnding() && performance.now() < endAt;

  const readNow = async (countMax: number): Promise<number> => {
    const found = await rows.due(run, countMax, handled);
    if (found.length > 0) {
      failpoint('webhook-after-read');
      lastFoundAt = performance.now();
    }
    isDrained = found.length < countMax;
    if (found.some((one) => one.revision !== revision)) isOver = true;
    for (const one of found) handled.add(one.id);
    queue.push(...found);
    return found.length;
  };
  const read = (countMax: number): Promise<number> =>
    (reading ??= readNow(countMax).finally(() => {
      reading = undefined;
    }));
  const wait = (): Promise<void> =>
    (waiting ??= whenMore(POLL_MS).finally(() => {
      waiting = undefined;
    }));
  return {
    next: async (countMax = READ_MAX) => {
      while (isOpen()) {
        const first = queue.shift();
        if (first !== undefined) {
          // The next call that awaits a read gets the error.
          if (queue.length < READ_BELOW && !isDrained && countMax > 1) read(countMax).catch(() => undefined);
          return first;
        }
        if ((await read(countMax)) > 0) continue;
        if (performance.now() - lastFoundAt >= lingerMs()) return undefined;
        await wait();
      }
      return undefined;
    },
    isOpen,
    end: () => {
      isOver = true;
    },
    settled: ({ id }) => handled.delete(id),
  };
};
