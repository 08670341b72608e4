/**
 * One queue for each stream. `next` returns only the first item of a stream, and the following one after `done`. So at
 * most one item of each stream is in progress, and the order within a stream is kept. Each step takes constant time.
 */
export interface StreamLines<Item> {
  /** Number of items that `next` would return now. */
  readonly ready: number;
  add(stream: string, item: Item): void;
  /** Returns the first item of the stream that has waited longest; undefined if every stream is in progress. */
  next(): Item | undefined;
  /** Marks the stream's last returned item as finished. */
  done(stream: string): void;
}

/** Number of returned items after which their slots are freed together. */
const COMPACT_AFTER = 1_024;

export const createStreamLines = <Item>(): StreamLines<Item> => {
  /** The items after the one that is ready or in progress. Every stream with an item has an entry. */
  const behind = new Map<string, Item[]>();
  let ready: Item[] = [];
  let given = 0;

  return {
    get ready() {
      return ready.length - given;
    },
    add: (stream, item) => {
      const line = behind.get(stream);
      if (line === undefined) {
        behind.set(stream, []);
        ready.push(item);
      } else {
        line.push(item);
      }
    },
    next: () => {
      const item = ready[given];
      if (item === undefined) return undefined;
      given += 1;
      if (given === ready.length || given >= COMPACT_AFTER) {
        ready = ready.slice(given);
        given = 0;
      }
      return item;
    },
    done: (stream) => {
      const next = behind.get(stream)?.shift();
      if (next === undefined) behind.delete(stream);
      else ready.push(next);
    },
  };
};
