/**
 * Waiting lines, one for each stream: only the first of a stream is ever given out, and the next one not before
 * `done` is called for it. So what is under way never holds two of one stream, and a stream's order is kept.
 * Every step costs the same however many wait.
 */
export interface StreamLines<Item> {
  /** How many `next` would give out now. */
  readonly ready: number;
  add(stream: string, item: Item): void;
  /** The first in line of the stream that has waited longest, undefined when every stream is under way. */
  next(): Item | undefined;
  /** What `next` gave out for this stream is finished. */
  done(stream: string): void;
}

/** Slots that were given out are freed in one go after this many. */
const COMPACT_AFTER = 1_024;

export const createStreamLines = <Item>(): StreamLines<Item> => {
  /** Behind the one that is ready or under way; a key for every stream that has one. */
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
