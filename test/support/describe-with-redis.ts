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
 * `describe` where a Redis answers. Elsewhere the tests are left out and say so; under CI that is a failure.
 * @throws Error under `CI=true` without a Redis
 */
export const describeWithRedis = async (): Promise<typeof describe | typeof describe.skip> => {
  if (await answers()) return describe;
  if (process.env['CI'] === 'true') throw new Error(`no Redis at ${testRedisUrl}: set REDIS_URL`);
  process.stderr.write(`no Redis at ${testRedisUrl}: its tests are left out\n`);
  return describe.skip;
};
