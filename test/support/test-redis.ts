import { randomBytes } from 'node:crypto';
import { describe } from '@jest/globals';
import { Redis } from 'ioredis';

const url = process.env['TEST_REDIS_URL'] ?? 'redis://127.0.0.1:6379';

export interface TestRedis {
  readonly url: string;
  /** Of a test file's own. */
  readonly keyPrefix: string;
  /** Removes what was written below the prefix. */
  clear(): Promise<void>;
}

/** Keys of one test file, on the Redis that is there (`TEST_REDIS_URL`, or the usual port of this machine). */
export const createTestRedis = (): TestRedis => {
  const keyPrefix = `test-${randomBytes(6).toString('hex')}:`;
  return {
    url,
    keyPrefix,
    clear: async () => {
      const redis = new Redis(url);
      try {
        for await (const keys of redis.scanStream({ match: `${keyPrefix}*`, count: 1_000 })) {
          if ((keys as string[]).length > 0) await redis.unlink(keys as string[]);
        }
      } finally {
        redis.disconnect();
      }
    },
  };
};

const answers = async (): Promise<boolean> => {
  const redis = new Redis(url, { lazyConnect: true, connectTimeout: 2_000, retryStrategy: () => null });
  redis.on('error', () => undefined);
  try {
    await redis.connect();
    return (await redis.ping()) === 'PONG';
  } catch {
    return false;
  } finally {
    redis.disconnect();
  }
};

/**
 * `describe` where a Redis answers. Elsewhere the tests are left out and say so; under CI that is a failure.
 * @throws Error under `CI=true` without a Redis
 */
export const describeWithRedis = async (): Promise<typeof describe | typeof describe.skip> => {
  if (await answers()) return describe;
  if (process.env['CI'] === 'true') throw new Error(`no Redis at ${url}: set TEST_REDIS_URL`);
  process.stderr.write(`no Redis at ${url}: its tests are left out\n`);
  return describe.skip;
};
