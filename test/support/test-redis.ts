import { randomBytes } from 'node:crypto';
import { Redis } from 'ioredis';

/** The Redis of the tests. */
export const testRedisUrl = process.env['TEST_REDIS_URL'] ?? 'redis://127.0.0.1:6379';

export interface TestRedis {
  readonly url: string;
  /** Of a test file's own. */
  readonly keyPrefix: string;
  /** What was written below the prefix, as `name value`, names without the prefix. */
  entries(): Promise<readonly string[]>;
  /** Removes what was written below the prefix. */
  clear(): Promise<void>;
}

/**
 * Keys of one test file or service.
 * @param at the Redis that is there, by default `TEST_REDIS_URL` or the usual port of this machine
 */
export const createTestRedis = (at: string = testRedisUrl): TestRedis => {
  const keyPrefix = `test-${randomBytes(6).toString('hex')}:`;
  const eachPage = async (
    take: (redis: Redis, keys: readonly string[]) => Promise<unknown>,
  ): Promise<void> => {
    const redis = new Redis(at);
    try {
      for await (const keys of redis.scanStream({ match: `${keyPrefix}*`, count: 1_000 })) {
        if ((keys as string[]).length > 0) await take(redis, keys as string[]);
      }
    } finally {
      redis.disconnect();
    }
  };
  return {
    url: at,
    keyPrefix,
    entries: async () => {
      const entries = new Set<string>();
      await eachPage(async (redis, keys) => {
        const values = await redis.mget(...keys);
        keys.forEach((key, n) => entries.add(`${key.slice(keyPrefix.length)} ${values[n]}`));
      });
      return [...entries];
    },
    clear: () => eachPage((redis, keys) => redis.unlink(...keys)),
  };
};
