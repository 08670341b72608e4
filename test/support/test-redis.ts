import { randomBytes } from 'node:crypto';
import { Redis } from 'ioredis';

const given = process.env['REDIS_URL'] ?? '';

/** The Redis of the tests: `REDIS_URL`, by default the usual local port. */
export const testRedisUrl = given === '' ? 'redis://127.0.0.1:6379' : given;

export interface TestRedis {
  readonly url: string;
  /** Unique for one test file. */
  readonly keyPrefix: string;
  /** The keys below the prefix, as `name value`, with names without the prefix. Values that are not text are JSON. */
  entries(): Promise<readonly string[]>;
  /** Deletes all keys below the prefix. */
  clear(): Promise<void>;
}

/**
 * Keys of one test file or service.
 * @param at the Redis, by default `testRedisUrl`
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
        const values = await Promise.all(keys.map((key) => valueOf(redis, key)));
        keys.forEach((key, n) => entries.add(`${key.slice(keyPrefix.length)} ${values[n]}`));
      });
      return [...entries];
    },
    clear: () => eachPage((redis, keys) => redis.unlink(...keys)),
  };
};

/** Reads a value of any type: a dump would be compressed. */
const valueOf = async (redis: Redis, key: string): Promise<string> => {
  const reads: Readonly<Record<string, () => Promise<unknown>>> = {
    string: () => redis.get(key),
    hash: () => redis.hgetall(key),
    list: () => redis.lrange(key, 0, -1),
    set: () => redis.smembers(key),
    zset: () => redis.zrange(key, 0, '-1', 'WITHSCORES'),
    stream: () => redis.xrange(key, '-', '+'),
  };
  const type = await redis.type(key);
  // Expired since it was listed.
  if (type === 'none') return '';
  const read = reads[type];
  if (read === undefined) throw new Error(`${key} is a ${type}`);
  const value = await read();
  return typeof value === 'string' ? value : JSON.stringify(value);
};
