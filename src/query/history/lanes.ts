/**
 * Does the work for each item, some at once. Ends with the first failure: what was not begun by then never is.
 * @throws whatever the work throws first
 */
export type Lanes = <Item>(items: Iterable<Item>, work: (item: Item) => Promise<void>) => Promise<void>;

export interface LaneCounts {
  /** Of one call. */
  readonly each: number;
  /** Of all calls together; who came first goes first. */
  readonly together: number;
}

/** Lanes that all requests of a process share: however many pages are asked for, so much goes on at once. */
export const createLanes = ({ each, together }: LaneCounts): Lanes => {
  let free = together;
  const waiting: (() => void)[] = [];
  const enter = async (): Promise<void> => {
    if (free > 0) free -= 1;
    else await new Promise<void>((resolve) => waiting.push(resolve));
  };
  const leave = (): void => {
    const next = waiting.shift();
    if (next === undefined) free += 1;
    else next();
  };
  return async (items, work) => {
    const left = items[Symbol.iterator]();
    let hasFailed = false;
    const lane = async (): Promise<void> => {
      for (;;) {
        // Before a place is asked for: who has nothing left to do waits for nobody.
        const item = left.next();
        if (item.done === true) return;
        await enter();
        try {
          if (hasFailed) return;
          await work(item.value);
        } catch (error) {
          hasFailed = true;
          throw error;
        } finally {
          leave();
        }
      }
    };
    await Promise.all(Array.from({ length: each }, lane));
  };
};
