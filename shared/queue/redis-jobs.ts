import { createRedisBackend, type BackendFactory, type IQueueBackend } from 'bullmq';
import type { Logger } from 'pino';
import { evictionPolicyOf } from '../limits/rate-limits.ts';
import { Redis } from '../process/redis-client.ts';
import type { JobBackend } from './job-backend.ts';

const CONNECT_MS_MAX = 2_000;
const RECONNECT_MS_MAX = 2_000;

/** @throws Error when Redis does not answer now */
export const openRedisJobs = async (url: string, keyPrefix: string, log: Logger): Promise<JobBackend> => {
  const evictionPolicy = await policyNow(url);
  if (evictionPolicy !== 'noeviction') {
    log.error(
      { evictionPolicy },
      'Redis may drop jobs when its memory is full, and they are then run late: set maxmemory-policy to noeviction',
    );
  }
  return {
    kind: 'redis',
    connect: () => ({
      url,
      // BullMQ requires unlimited retries. Callers of `enqueue` have a deadline.
      maxRetriesPerRequest: null,
      connectTimeout: CONNECT_MS_MAX,
      retryStrategy: (attempt: number) => Math.min(50 * attempt, RECONNECT_MS_MAX),
    }),
    prefix: `${keyPrefix}jobs`,
    bulkMin: 1,
    factory: createRedisBackend as BackendFactory<IQueueBackend, unknown>,
    detail: { store: 'redis', evictionPolicy: evictionPolicy ?? 'unknown' },
    close: async () => undefined,
  };
};

/** A queue that was opened without Redis would wait instead of failing. */
const policyNow = async (url: string): Promise<string | undefined> => {
  const redis = new Redis(url, {
    lazyConnect: true,
    connectTimeout: CONNECT_MS_MAX,
    commandTimeout: CONNECT_MS_MAX,
    maxRetriesPerRequest: 0,
    retryStrategy: () => null,
  });
  redis.on('error', () => undefined);
  try {
    await redis.connect();
    return await evictionPolicyOf(redis);
  } finally {
    redis.disconnect();
  }
};
