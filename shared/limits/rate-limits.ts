import { Redis } from 'ioredis';
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
import { systemClock } from '../async/clock.ts';
import { createFailedCredentials, type FailedCredentials } from './failed-credentials.ts';
import { createLimiter, type Limiter } from './limiter.ts';
import type { Limit, Limits } from './limits.ts';
import { OwnWindows } from './own-windows.ts';

export interface RateLimitsOptions {
  readonly limits: Limits;
  /** Processes that serve the API. */
  readonly nodes: number;
  readonly databaseUrl: string;
  /** Absent: the counters of several processes are in Postgres, those of a single one in its memory. */
  readonly redisUrl?: string | undefined;
  readonly redisKeyPrefix: string;
  readonly log: Logger;
  readonly registry: Registry;
}

export interface RateLimits {
  readonly limiter: Limiter;
  readonly failedCredentials: FailedCredentials;
  /** Always ready, since limits hold without their shared counters; says where they are. */
  readonly readiness: ReadinessPart;
  /** Deletes windows that have closed. @returns how many */
  purge(rowsMax: number): Promise<number>;
  close(): Promise<void>;
}

/** Where the processes count together. */
interface SharedStore {
  /** @param options of the limiter, without its store */
  limiter(options: LimiterOptions): RateLimiterAbstract;
  readonly detail: () => Readonly<Record<string, unknown>>;
  purge(rowsMax: number): Promise<number>;
  close(): Promise<void>;
}

interface LimiterOptions {
  readonly keyPrefix: string;
  readonly points: number;
  readonly duration: number;
  /** A subject that reached its limit is refused from memory until its window closes. */
  readonly inMemoryBlockOnConsumed: number;
}

/** A request asks the shared counters at most twice, one after the other: 200 ms are promised. */
const WAIT_MS_MAX = 100;
const LOG_EVERY_MS = 60_000;

/** The rate limits of one process, counted together with all others. */
export const createRateLimits = (options: RateLimitsOptions): RateLimits => {
  const { limits, nodes, redisUrl, log, registry } = options;
  if (redisUrl === undefined && nodes === 1) return countedAlone(limits);
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
      // Given to the wrapper alone: a limiter that fails after its time is over would count there once more.
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
  const limiter = createLimiter(limits, {
    credential: windowsOf('credential', limits.credential),
    address: windowsOf('address', limits.address),
    unverified: windowsOf('unverified', limits.unverified),
  });
  return {
    limiter,
    failedCredentials: createFailedCredentials(limiter, windowsOf('verified', limits.unverified)),
  };
};

/** One process without Redis counts in its memory: a statement a request would cost as much as the request. */
export const countedAlone = (limits: Limits): RateLimits => ({
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
/** A connection on which nothing comes back is given up for a new one, and what was asked on it fails. */
const SILENCE_MS_MAX = 2_000;
const RECONNECT_MS_MAX = 1_000;

/** On a connection for the limits alone: what is asked while it is away fails at once instead of waiting in line. */
const inRedis = (url: string, { redisKeyPrefix, log }: RateLimitsOptions): SharedStore => {
  const redis = new Redis(url, {
    enableOfflineQueue: false,
    maxRetriesPerRequest: 0,
    connectTimeout: CONNECT_MS_MAX,
    socketTimeout: SILENCE_MS_MAX,
    retryStrategy: (attempt) => Math.min(50 * attempt, RECONNECT_MS_MAX),
  });
  // Without a listener the process would end; `reportFallback` says that Redis is away.
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
  return {
    limiter: ({ keyPrefix, ...options }) =>
      new RateLimiterRedis({
        ...options,
        storeClient: redis,
        keyPrefix: `${redisKeyPrefix}rate:${keyPrefix}`,
        rejectIfRedisNotReady: true,
      }),
    detail: () => ({ store: 'redis', evictionPolicy: evictionPolicy ?? 'unknown' }),
    // Redis forgets closed windows by itself.
    purge: async () => 0,
    close: async () => redis.disconnect(),
  };
};

/** On connections for the limits alone: no request waits longer for a count than it may because of other queries. */
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
        // By a migration; and `purge` deletes in bounded steps.
        tableCreated: true,
        clearExpiredByTimeout: false,
      }),
    detail: () => ({ store: 'postgres' }),
    purge: async (rowsMax) => {
      const { rowCount } = await pool.query({
        name: 'rate-limits-purge',
        // Takes what others have not locked. A window that opens again meanwhile is not deleted: its row is locked.
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

/** A metric for each request, a log line at most once a minute. */
const reportFallback = (log: Logger, registry: Registry): (() => void) => {
  const fallbacks = new Counter({
    name: 'rate_limit_fallbacks_total',
    help: 'Requests that this process counted alone because the shared counters did not answer in time',
    registers: [registry],
  });
  let loggedAt = -Infinity;
  return () => {
    fallbacks.inc();
    if (performance.now() - loggedAt < LOG_EVERY_MS) return;
    loggedAt = performance.now();
    log.error('the shared counters of the rate limits are away; each process counts by itself');
  };
};

/**
 * What a Redis does when its memory is full, e.g. `noeviction`; undefined when it does not say. By INFO: hosted
 * servers often forbid CONFIG.
 */
export const evictionPolicyOf = async (redis: {
  info(section: string): Promise<string>;
}): Promise<string | undefined> => /^maxmemory_policy:(\S+)/m.exec(await redis.info('memory'))?.[1];
