import { LRUCache } from 'lru-cache';
import type { AccountVersion } from './principal.ts';
import type { Reply, Route } from './route.ts';

/**
 * Answers of reads, each served from memory while its account's version is unchanged. No invalidation and no expiry:
 * each request brings the version that was read with its credential.
 */
export interface AnswerCache {
  /**
   * Returns the value stored under `key` at `version`, else the result of `read`. A failed read is not stored.
   * @param key contains the account, the operation and all of its parameters
   * @param version absent: the value is neither served from memory nor stored
   * @param bytesOf approximate size of the value; 0: not stored
   */
  answer<T extends object>(
    key: string,
    version: AccountVersion | undefined,
    read: () => Promise<T>,
    bytesOf: (value: T) => number,
  ): Promise<T>;
  /**
   * Deletes all entries, and does not store reads in progress. Call it for each new database connection: it may lead
   * to another server or a restored backup, where the same version means other events.
   */
  clear(): void;
  readonly hits: number;
  readonly misses: number;
}

const ENTRY_BYTES = 256;

/** @param bytesMax of all answers; the least recently used go first. One answer may take an eighth */
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
      // The version must be read before the value. A write between the two makes the value newer than its version:
      // the next request has another version and reads again. In the other order, an outdated value would get the new
      // version.
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
 * Returns the routes with reads answered from memory where possible. Only for reads that depend on account, path and
 * query alone, and that contain all writes of the account, or of the installation if they show its data. Not for
 * events whose last position is in a separate table: they do not change an account's version.
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
