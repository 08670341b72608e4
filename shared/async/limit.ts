import pLimit, { type LimitFunction } from 'p-limit';

export interface LimitOptions {
  /** Under way at once at most. */
  readonly atOnceMax: number;
  /** In the queue at most; work that has waited too long stays in it until its turn comes. */
  readonly waitingMax: number;
  /** The error of work that waited too long, or met a full queue: it has not run and never will. */
  readonly tooBusy: () => Error;
}

/** @param waitMsMax how long this work waits to begin at most, ms */
export type Limit = <T>(waitMsMax: number, work: () => Promise<T>) => Promise<T>;

/** Bounded concurrency with a bounded queue, first come, first served. */
export const createLimit = ({ atOnceMax, waitingMax, tooBusy }: LimitOptions): Limit => {
  const limit = pLimit(atOnceMax);
  return async (waitMsMax, work) => {
    const waiting = limit.activeCount + limit.pendingCount - atOnceMax;
    if (waiting < 0) return limit(work);
    if (waiting >= waitingMax) throw tooBusy();
    return startWithin(waitMsMax, limit, work, tooBusy);
  };
};

/** @param run lets the work begin when its turn has come */
const startWithin = <T>(
  waitMsMax: number,
  run: (work: () => Promise<void>) => Promise<void>,
  work: () => Promise<T>,
  tooBusy: () => Error,
): Promise<T> =>
  new Promise((resolve, reject) => {
    let isLate = false;
    const timer = setTimeout(() => {
      isLate = true;
      reject(tooBusy());
    }, waitMsMax).unref();
    const begun = async (): Promise<T> => work();
    void run(async () => {
      clearTimeout(timer);
      if (!isLate) await begun().then(resolve, reject);
    });
  });

/** Runs `work` when nothing else of that key runs, first come, first served. */
export type OneAtATime = <T>(key: string, work: () => Promise<T>) => Promise<T>;

/**
 * One at a time by key, within this process.
 * @param waitMsMax how long work waits to begin at most, ms
 * @param waitingMax by key, as in `LimitOptions`
 */
export const createOneAtATime = ({
  waitMsMax,
  waitingMax,
  tooBusy,
}: {
  readonly waitMsMax: number;
  readonly waitingMax: number;
  readonly tooBusy: (key: string) => Error;
}): OneAtATime => {
  const limits = new Map<string, LimitFunction>();
  return async (key, work) => {
    const limit = limits.get(key) ?? pLimit(1);
    limits.set(key, limit);
    const run = async <T>(one: () => Promise<T>): Promise<T> => {
      try {
        return await limit(one);
      } finally {
        if (limit.activeCount + limit.pendingCount === 0) limits.delete(key);
      }
    };
    if (limit.activeCount === 0) return run(work);
    if (limit.pendingCount >= waitingMax) throw tooBusy(key);
    return startWithin(waitMsMax, run, work, () => tooBusy(key));
  };
};

/**
 * Does the work for each item, some at once. Ends with the first failure: what has not begun by then never does.
 * @throws what the work throws first
 */
export type ForEach = <Item>(items: Iterable<Item>, work: (item: Item) => Promise<void>) => Promise<void>;

/**
 * @param each at once of one call at most
 * @param together at once of all calls at most, first come, first served: however many pages requests ask for
 */
export const createSharedForEach = ({
  each,
  together,
}: {
  readonly each: number;
  readonly together: number;
}): ForEach => {
  const shared = pLimit(together);
  return async (items, work) => {
    let hasFailed = false;
    await pLimit(each).map(items, (item) =>
      shared(async () => {
        if (hasFailed) return;
        try {
          await work(item);
        } catch (error) {
          hasFailed = true;
          throw error;
        }
      }),
    );
  };
};
