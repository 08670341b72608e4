import { Counter, type Registry } from 'prom-client';
import {
  RateLimiterPostgres,
  RateLimiterRedis,
  RLWrapperTimeouts,
  type RateLimiterAbstract,
} from 'rate-limiter-flexible';
import type { ReadinessPart } from '../async/readiness.ts';
import type { Logger } from 'pino';
import { createPool } from '../postgres/pool.ts';
import { Redis } from '../process/redis-client.ts';
import { systemClock } from '../async/clock.ts';
import { createFailedCredentials, type FailedCredentials } from './failed-credentials.ts';
import { createLimiter, type Limiter } from './limiter.ts';
import { forEachLimit, type Limit, type Limits } from './limits.ts';
import { OwnWindows } from './own-windows.ts';

export interface RateLimitsOptions {
  readonly limits: Limits;
  readonly nodes: number;
  readonly databaseUrl: string;
  /** Default: several processes count in Postgres, a single process in its memory. */
  readonly redisUrl?: string | undefined;
  readonly redisKeyPrefix: string;
  readonly log: Logger;
  readonly registry: Registry;
}

export interface RateLimits {
  readonly limiter: Limiter;
  readonly failedCredentials: FailedCredentials;
  /** Always ready, because limits work without shared counters. */
  readonly readiness: ReadinessPart;
  purge(rowsMax: number): Promise<number>;
  close(): Promise<void>;
}

interface SharedStore {
  limiter(options: LimiterOptions): RateLimiterAbstract;
  readonly detail: () => Readonly<Record<string, unknown>>;
  purge(rowsMax: number): Promise<number>;
  close(): Promise<void>;
}

interface LimiterOptions {
  readonly keyPrefix: string;
  readonly points: number;
  readonly duration: number;
  readonly inMemoryBlockOnConsumed: number;
}

/** 200 ms are promised, and a request queries the shared counters at most twice, one after the other. */
const WAIT_MS_MAX = 100;
const LOG_EVERY_MS = 60_000;

export const createRateLimits = (options: RateLimitsOptions): RateLimits => {
  const { limits, nodes, redisUrl, log, registry } = options;
  if (redisUrl === undefined && nodes === 1) return createLocalRateLimits(limits);
  const store = redisUrl === undefined ? inPostgres(options) : inRedis(redisUrl, options);
  const report = reportFallback(log, registry);
  const windowsOf = (keyPrefix: string, { requests, windowSeconds: duration }: Limit) => {
    const shared = store.limiter({
      keyPrefix,
      points: requests,
      duration,
      inMemoryBlockOnConsumed: requests,
    });
    return new RLWrapperTimeouts({
      limiter: shared,
      timeoutMs: WAIT_MS_MAX,
      // Not for the inner limiter: after a timeout it would count the request a second time.
      insuranceLimiter: new OwnWindows({ keyPrefix, points: Math.ceil(requests / nodes), duration }, report),
    });
  };
  const probe = new RLWrapperTimeouts({
    limiter: store.limiter({ keyPrefix: 'readiness', points: 1, duration: 1, inMemoryBlockOnConsumed: 1 }),
    timeoutMs: WAIT_MS_MAX,
  });
  return {
    ...applied(limits, windowsOf),
    readiness: {
      name: 'rateLimits',
      check: async () => {
        const counted = await probe.get('any').then(
          () => 'together',
          () => 'by each process',
        );
        return { ready: true, detail: { ...store.detail(), counted } };
      },
    },
    purge: (rowsMax) => store.purge(rowsMax),
    close: () => store.close(),
  };
};

const applied = (
  limits: Limits,
  windowsOf: (name: string, limit: Limit) => RateLimiterAbstract,
): Pick<RateLimits, 'limiter' | 'failedCredentials'> => {
  const limiter = createLimiter(limits, forEachLimit(limits, windowsOf));
  return {
    limiter,
    failedCredentials: createFailedCredentials(limiter, windowsOf('verified', limits.unverified)),
  };
};

/** Counts in memory: a statement per request would cost as much as the request. */
export const createLocalRateLimits = (limits: Limits): RateLimits => ({
  ...applied(
    limits,
    (keyPrefix, { requests: points, windowSeconds: duration }) =>
      new OwnWindows({ keyPrefix, points, duration }),
  ),
  readiness: {
    name: 'rateLimits',
    check: async () => ({ ready: true, detail: { store: 'memory', counted: 'together' } }),
  },
  purge: async () => 0,
  close: async () => undefined,
});

const CONNECT_MS_MAX = 2_000;
/** After this silence the connection is replaced, and its pending commands fail. */
const SILENCE_MS_MAX = 2_000;
const RECONNECT_MS_MAX = 1_000;

const inRedis = (url: string, { redisKeyPrefix, log }: RateLimitsOptions): SharedStore => {
  const redis = new Redis(url, {
    enableOfflineQueue: false,
    maxRetriesPerRequest: 0,
    connectTimeout: CONNECT_MS_MAX,
    socketTimeout: SILENCE_MS_MAX,
    retryStrategy: (attempt) => Math.min(50 * attempt, RECONNECT_MS_MAX),
  });
  // Without a listener the process would exit; `reportFallback` reports that Redis is unavailable.
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
      (error: unknown) => log.warn({ err: error }, 'the eviction policy of Redis is unknown'),
    );
  });
  return {
    limiter: ({ keyPrefix, ...options }) =>
      new RateLimiterRedis({
        ...options,
        storeClient: redis,
        keyPrefix: `${redisKeyPrefix}rate:${keyPrefix}`,
        rejectIfRedisNotReady: true,
      }),
    detail: () => ({ store: 'redis', evictionPolicy: evictionPolicy ?? 'unknown' }),
    purge: async () => 0,
    close: async () => redis.disconnect(),
  };
};

/** Separate connections, so that counting never waits for other queries. */
const inPostgres = ({ databaseUrl, log }: RateLimitsOptions): SharedStore => {
  const pool = createPool(
    {
      connectionString: databaseUrl,
      applicationName: 'exchange-limits',
      max: 2,
      timeouts: { statementMs: 500, queryMs: 1_000, connectMs: 1_000 },
      asyncCommit: true,
    },
    log,
  );
  return {
    limiter: (options) =>
      new RateLimiterPostgres({
        ...options,
        storeClient: pool,
        storeType: 'pool',
        tableName: 'rate_limits',
        // A migration creates the table, and `purge` deletes in bounded steps.
        tableCreated: true,
        clearExpiredByTimeout: false,
      }),
    detail: () => ({ store: 'postgres' }),
    purge: async (rowsMax) => {
      const { rowCount } = await pool.query({
        name: 'rate-limits-purge',
        // A window that is opened again at the same time is not deleted: its row is locked.
        text: `
          delete from rate_limits where key in (
            select key from rate_limits where expire <= $1 order by expire limit $2 for update skip locked)`,
        values: [systemClock.now(), rowsMax],
      });
      return rowCount ?? 0;
    },
    close: () => pool.end(),
  };
};

const reportFallback = (log: Logger, registry: Registry): (() => void) => {
  const fallbacks = new Counter({
    name: 'exchange_rate_limit_fallbacks_total',
    help: 'Requests that this process counted alone because the shared counters did not answer in time',
    registers: [registry],
  });
  let loggedAt = -Infinity;
  return () => {
    fallbacks.inc();
    if (performance.now() - loggedAt < LOG_EVERY_MS) return;
    loggedAt = performance.now();
    log.error('the shared counters of the rate limits are unavailable; each process counts alone');
  };
};

/** Uses INFO because hosted servers often forbid CONFIG. Undefined if unknown. */
export const evictionPolicyOf = async (redis: {
  info(section: string): Promise<string>;
}): Promise<string | undefined> => /^maxmemory_policy:(\S+)/m.exec(await redis.info('memory'))?.[1];
