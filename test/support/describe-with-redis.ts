import { describe } from '@jest/globals';
import { Redis } from 'ioredis';
import { testRedisUrl } from './test-redis.ts';

const answers = async (): Promise<boolean> => {
  const redis = new Redis(testRedisUrl, {
    lazyConnect: true,
    connectTimeout: 2_000,
    retryStrategy: () => null,
  });
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
 * `describe` if Redis answers. Otherwise it skips the tests and prints a note.
 * @throws Error under `CI=true` without a Redis
 */
export const describeWithRedis = async (): Promise<typeof describe | typeof describe.skip> => {
  if (await answers()) return describe;
  if (process.env['CI'] === 'true') throw new Error(`no Redis at ${testRedisUrl}: set REDIS_URL`);
  process.stderr.write(`no Redis at ${testRedisUrl}: its tests are skipped\n`);
  return describe.skip;
};
