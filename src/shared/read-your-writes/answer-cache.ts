/** An answer, and the mark of its account in the snapshot in which it was made. */
export interface MarkedAnswer<T> {
  /** Undefined when the read model had not reached the account's end in that snapshot: not to be kept. */
  readonly mark: string | undefined;
  readonly value: T;
  /** Memory that the value takes, about. */
  readonly bytes: number;
}

/**
 * Ready answers of reads, each valid for as long as its account's mark is the same (`account-mark.ts`). Nothing
 * is ever told to forget an answer, and no time limit is needed: whoever asks brings the mark of now.
 */
export interface AnswerCache {
  /**
   * The answer known by `key` if it was made at `mark`, else the one that `read` makes.
   * @param key names account, question and all of its parameters
   * @param mark of the account, read from the database since the request came; undefined: never from memory
   */
  answer<T>(key: string, mark: string | undefined, read: () => Promise<MarkedAnswer<T>>): Promise<T>;
  /**
   * Forgets everything, and what is being read now. To be called for every new connection to the database: it
   * may lead to another server, or one restored to an earlier time, where the same mark means other events.
   */
  clear(): void;
  readonly hits: number;
  readonly misses: number;
}

interface Entry {
  readonly mark: string;
  readonly value: unknown;
  readonly bytes: number;
}

/** What an entry takes besides its value and its key. */
const ENTRY_BYTES = 256;

/** @param bytesMax of all answers; the least recently used go first */
export const createAnswerCache = (bytesMax: number): AnswerCache => {
  /** In the order of their last use. */
  const entries = new Map<string, Entry>();
  let bytes = 0;
  let generation = 0;
  let hits = 0;
  let misses = 0;

  const remove = (key: string, entry: Entry): void => {
    entries.delete(key);
    bytes -= entry.bytes;
  };

  const keep = (key: string, mark: string, value: unknown, valueBytes: number): void => {
    const before = entries.get(key);
    if (before !== undefined) remove(key, before);
    const entry = { mark, value, bytes: valueBytes + 2 * key.length + ENTRY_BYTES };
    // A single answer must not push out all others.
    if (entry.bytes > bytesMax / 8) return;
    entries.set(key, entry);
    bytes += entry.bytes;
    for (const [oldest, old] of entries) {
      if (bytes <= bytesMax) break;
      remove(oldest, old);
    }
  };

  return {
    answer: async <T>(key: string, mark: string | undefined, read: () => Promise<MarkedAnswer<T>>) => {
      const known = entries.get(key);
      if (known !== undefined && known.mark === mark) {
        hits += 1;
        entries.delete(key);
        entries.set(key, known);
        return known.value as T;
      }
      misses += 1;
      const begun = generation;
      const made = await read();
      if (mark !== undefined && made.mark !== undefined && begun === generation) {
        keep(key, made.mark, made.value, made.bytes);
      }
      return made.value;
    },
    clear: () => {
      generation += 1;
      entries.clear();
      bytes = 0;
    },
    get hits() {
      return hits;
    },
    get misses() {
      return misses;
    },
  };
};
