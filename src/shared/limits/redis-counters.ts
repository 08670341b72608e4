import { Redis } from 'ioredis';
import { RateLimiterRedis, type RateLimiterRes } from 'rate-limiter-flexible';
import type { Logger } from '../log.ts';
import { countTogether } from './count-together.ts';
import type { OpenWindow, WindowCounters } from './window-counters.ts';

export interface RedisCounters extends WindowCounters {
  /** What Redis does when its memory is full, as it said when the connection was made. */
  readonly evictionPolicy: string | undefined;
  close(): void;
}

const CONNECT_MS_MAX = 2_000;
/** A connection on which nothing comes back is given up for a new one, and what was asked on it fails. */
const SILENCE_MS_MAX = 2_000;
const RECONNECT_MS_MAX = 1_000;

/**
 * Counters in Redis, by its clock, on a connection of their own: what is asked while it is away fails at once
 * instead of waiting in line. How long a request waits for an answer is decided in one place for
 * all counters, `with-fallback.ts`: a command's own timer would go off after any stall of this process, although
 * its answer had come.
 * @param keyPrefix of all keys, so that several installations can share one Redis
 */
export const createRedisCounters = (url: string, keyPrefix: string, log: Logger): RedisCounters => {
  const redis = new Redis(url, {
    enableOfflineQueue: false,
    maxRetriesPerRequest: 0,
    connectTimeout: CONNECT_MS_MAX,
    socketTimeout: SILENCE_MS_MAX,
    enableAutoPipelining: true,
    retryStrategy: (attempt) => Math.min(50 * attempt, RECONNECT_MS_MAX),
  });
  // Without a listener the process would end; whoever counts learns of it and says so (`with-fallback.ts`).
  redis.on('error', () => undefined);
  let evictionPolicy: string | undefined;
  redis.on('ready', () => {
    evictionPolicyOf(redis).then(
      (policy) => {
        evictionPolicy = policy;
        if (policy !== 'noeviction') {
          log.error(
            { evictionPolicy: policy },
            'Redis may drop counters and jobs: set maxmemory-policy to noeviction',
          );
        }
      },
      (error: unknown) => log.warn({ err: error }, 'the eviction policy of Redis is not known'),
    );
  });
  const limiter = new RateLimiterRedis({
    storeClient: redis,
    keyPrefix: `${keyPrefix}rate`,
    points: Number.MAX_SAFE_INTEGER,
    duration: 1,
    rejectIfRedisNotReady: true,
  });
  return {
    get evictionPolicy() {
      return evictionPolicy;
    },
    count: countTogether(async (subject, seconds, times) =>
      windowOf(await limiter.penalty(subject, times, { customDuration: seconds })),
    ),
    read: async (subject) => {
      const result = await limiter.get(subject);
      return result === null || result.msBeforeNext <= 0 ? undefined : windowOf(result);
    },
    reopen: async (subject, seconds) => {
      await limiter.set(subject, 1, seconds);
    },
    close: () => redis.disconnect(),
  };
};

const windowOf = ({ consumedPoints, msBeforeNext }: RateLimiterRes): OpenWindow => ({
  count: consumedPoints,
  msLeft: Math.max(msBeforeNext, 1),
});

/** By INFO: hosted servers often forbid CONFIG. */
const evictionPolicyOf = async (redis: Redis): Promise<string | undefined> =>
  /^maxmemory_policy:(\S+)/m.exec(await redis.info('memory'))?.[1];
