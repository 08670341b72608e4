import { LRUCache } from 'lru-cache';
import type { AccountVersion } from './principal.ts';
import type { Reply, Route } from './route.ts';

/** Serves reads from memory while the account's version, read with the credential, is unchanged. */
export interface AnswerCache {
  /** @param key names account, operation and parameters @param bytesOf 0: not stored */
  answer<T extends object>(
    key: string,
    version: AccountVersion | undefined,
    read: () => Promise<T>,
    bytesOf: (value: T) => number,
  ): Promise<T>;
  /** After a restore, the same version means other events: call it for each new connection. */
  clear(): void;
  readonly hits: number;
  readonly misses: number;
}

const ENTRY_BYTES = 256;

/** One answer may take an eighth of `bytesMax`. */
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
      // The version was read first: a write in between makes the value newer than its version, and the next
      // request reads again. In the other order, an outdated value would get the new version.
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

/** For reads that depend on account, path and query alone and contain all writes of the account. */
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
