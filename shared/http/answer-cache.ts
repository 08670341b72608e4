import { LRUCache } from 'lru-cache';
import type { AccountVersion } from './principal.ts';
import type { Reply, Route } from './route.ts';

/**
 * Answers of reads in memory, each served for as long as its account's version stays the same. No answer needs to be
 * invalidated and none expires: each request brings the version that was read with its credential.
 */
export interface AnswerCache {
  /**
   * The value kept under `key` if it was read at `version`, else what `read` finds. Of a read that fails nothing is kept.
   * @param key names the account, the question and all of its parameters
   * @param version absent: the value is neither served from memory nor kept
   * @param bytesOf memory that the value takes, about; 0: not to be kept
   */
  answer<T extends object>(
    key: string,
    version: AccountVersion | undefined,
    read: () => Promise<T>,
    bytesOf: (value: T) => number,
  ): Promise<T>;
  /**
   * Forgets everything, and what is being read now. To be called for every new connection to the database: it
   * may lead to another server, or one restored to an earlier time, where the same version means other events.
   */
  clear(): void;
  readonly hits: number;
  readonly misses: number;
}

/** What an entry takes besides its value and its key. */
const ENTRY_BYTES = 256;

/** @param bytesMax of all answers; the least recently used go first, and one larger than an eighth is not kept */
export const createAnswerCache = (bytesMax: number): AnswerCache => {
  const kept = new LRUCache<string, { readonly version: string; readonly value: object }>({
    maxSize: bytesMax,
    maxEntrySize: bytesMax / 8,
  });
  let clearedAt = -Infinity;
  let hits = 0;
  let misses = 0;
  return {
    answer: async <T extends object>(
      key: string,
      version: AccountVersion | undefined,
      read: () => Promise<T>,
      bytesOf: (value: T) => number,
    ) => {
      if (version !== undefined) {
        const known = kept.get(key);
        if (known?.version === version.text) {
          hits += 1;
          return known.value as T;
        }
      }
      misses += 1;
      const value = await read();
      const bytes = bytesOf(value);
      // The version was read before the value. If a write came between the two, the value is newer than its version: the
      // next request brings another version and reads again. In the other order an old value would get a new version.
      if (version !== undefined && version.askedAt > clearedAt && bytes > 0) {
        kept.set(key, { version: version.text, value }, { size: bytes + 2 * key.length + ENTRY_BYTES });
      }
      return value;
    },
    clear: () => {
      clearedAt = performance.now();
      kept.clear();
    },
    get hits() {
      return hits;
    },
    get misses() {
      return misses;
    },
  };
};

/**
 * The same routes, the reads among them answered from memory where possible. Only for reads that depend on nothing but
 * account, path and query, and that hold everything that the account (for what they show of it, the installation) had
 * written when they were asked. Not for what is read of conversion events: these do not change an account's version.
 */
export const answeredFromMemory = (answers: AnswerCache, routes: readonly Route[]): readonly Route[] =>
  routes.map((route) => {
    if (route.method !== 'get') return route;
    const handle: Route['handle'] = (input) => {
      const { customerId, version } = input.request.principal;
      const key = JSON.stringify([customerId, route.operationId, input.params, input.query]);
      return answers.answer(key, version, async () => asText(await route.handle(input)), bytesOfReply);
    };
    return { ...route, handle };
  });

const asText = (reply: Reply): Reply => {
  if (!('data' in reply) || reply.headers !== undefined) return reply;
  const { data, ...others } = reply;
  return { ...others, dataJson: JSON.stringify(data) };
};

const bytesOfReply = (reply: Reply): number => ('dataJson' in reply ? 2 * reply.dataJson.length : 0);
