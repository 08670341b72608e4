/** At most one item of each stream is in progress, in order. Each step takes constant time. */
export interface StreamLines<Item> {
  readonly ready: number;
  add(stream: string, item: Item): void;
  /** Undefined if every stream is in progress. */
  next(): Item | undefined;
  done(stream: string): void;
}

const COMPACT_AFTER = 1_024;

export const createStreamLines = <Item>(): StreamLines<Item> => {
  /** Every stream with an item has an entry. */
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
