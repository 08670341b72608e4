import { Redis } from 'ioredis';
import { RateLimiterRedis, type RateLimiterRes } from 'rate-limiter-flexible';
import { z } from 'zod';
import type { Logger } from '../log.ts';
import { evictionPolicyOf } from '../redis/eviction-policy.ts';
import { countTogether, type Asked } from './count-together.ts';
import type { OpenWindow, WindowCounters } from './window-counters.ts';

export interface RedisCounters extends WindowCounters {
  /** What Redis does when its memory is full, as it said when the connection was made. */
  readonly evictionPolicy: string | undefined;
  close(): void;
}

/**
 * Counts every subject in one round trip, each as the library does. Own text, because the library makes a command of each
 * subject, and a window's count is asked for with nearly every request.
 */
const COUNT = `
  local counted = {}
  for i, key in ipairs(KEYS) do
    local times, seconds = ARGV[2 * i - 1], ARGV[2 * i]
    redis.call('set', key, 0, 'EX', seconds, 'NX')
    counted[2 * i - 1] = redis.call('incrby', key, times)
    counted[2 * i] = redis.call('pttl', key)
    if counted[2 * i] == -1 then
      redis.call('expire', key, seconds)
      counted[2 * i] = 1000 * seconds
    end
  end
  return counted`;

const Counted = z.array(z.int());

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
    // Sent at once: it is a batch already.
    autoPipeliningIgnoredCommands: ['eval'],
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
  const prefix = `${keyPrefix}rate`;
  const limiter = new RateLimiterRedis({
    storeClient: redis,
    keyPrefix: prefix,
    points: Number.MAX_SAFE_INTEGER,
    duration: 1,
    rejectIfRedisNotReady: true,
  });
  return {
    get evictionPolicy() {
      return evictionPolicy;
    },
    count: countTogether((asked) => countAll(redis, prefix, asked)),
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

const countAll = async (
  redis: Redis,
  prefix: string,
  asked: Asked,
): Promise<ReadonlyMap<string, OpenWindow>> => {
  const subjects = [...asked.keys()];
  const keys = subjects.map((subject) => `${prefix}:${subject}`);
  const amounts = [...asked.values()].flatMap(({ times, seconds }) => [times, seconds]);
  const counted = Counted.parse(await redis.eval(COUNT, keys.length, ...keys, ...amounts));
  return new Map(
    subjects.map((subject, at) => [
      subject,
      { count: counted[2 * at] ?? 0, msLeft: Math.max(counted[2 * at + 1] ?? 0, 1) },
    ]),
  );
};

const windowOf = ({ consumedPoints, msBeforeNext }: RateLimiterRes): OpenWindow => ({
  count: consumedPoints,
  msLeft: Math.max(msBeforeNext, 1),
});
