import pLimit, { type LimitFunction } from 'p-limit';

export interface LimitOptions {
  readonly atOnceMax: number;
  /** Work that timed out counts until it leaves the queue. */
  readonly waitingMax: number;
  /** For work that waited too long or met a full queue, and never runs. */
  readonly tooBusy: () => Error;
}

export type Limit = <T>(waitMsMax: number, work: () => Promise<T>) => Promise<T>;

export const createLimit = ({ atOnceMax, waitingMax, tooBusy }: LimitOptions): Limit => {
  const limit = pLimit(atOnceMax);
  return async (waitMsMax, work) => {
    const waiting = limit.activeCount + limit.pendingCount - atOnceMax;
    if (waiting < 0) return limit(work);
    if (waiting >= waitingMax) throw tooBusy();
    return startWithin(waitMsMax, limit, work, tooBusy);
  };
};

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

export type OneAtATime = <T>(key: string, work: () => Promise<T>) => Promise<T>;

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

/** After a failure no further work starts. @throws the first error of the work */
export type ForEach = <Item>(items: Iterable<Item>, work: (item: Item) => Promise<void>) => Promise<void>;

/** @param each jobs of one call at a time @param together of all calls, first come, first served */
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
