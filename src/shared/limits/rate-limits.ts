import { Counter, type Registry } from 'prom-client';
import type { ReadinessPart } from '../http/readiness.ts';
import type { Logger } from '../log.ts';
import { createPool } from '../postgres/pool.ts';
import { createFailedCredentials, type FailedCredentials } from './failed-credentials.ts';
import { createLimiter, type Limiter } from './limiter.ts';
import type { Limits } from './limits.ts';
import { createMemoryCounters } from './memory-counters.ts';
import { createPostgresCounters } from './postgres-counters.ts';
import { createRedisCounters } from './redis-counters.ts';
import type { WindowCounters } from './window-counters.ts';
import { withFallback, type CountersWithFallback } from './with-fallback.ts';

export interface RateLimitsOptions {
  readonly limits: Limits;
  /** Processes that serve the API. */
  readonly nodes: number;
  readonly databaseUrl: string;
  /** Absent: the counters are in Postgres. */
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

interface SharedCounters {
  readonly counters: WindowCounters;
  readonly detail: () => Readonly<Record<string, unknown>>;
  purge(rowsMax: number): Promise<number>;
  close(): Promise<void>;
}

const LOG_EVERY_MS = 60_000;

/** The rate limits of one process, counted together with all others. */
export const createRateLimits = (options: RateLimitsOptions): RateLimits => {
  const { limits, nodes, log, registry } = options;
  const shared = options.redisUrl === undefined ? inPostgres(options) : inRedis(options.redisUrl, options);
  const counters = withFallback({
    shared: shared.counters,
    own: createMemoryCounters(),
    nodes,
    onFallback: reportFallback(log, registry),
  });
  const limiter = createLimiter(limits, counters);
  return {
    limiter,
    failedCredentials: createFailedCredentials(limiter, counters),
    readiness: {
      name: 'rateLimits',
      check: async () => ({
        ready: true,
        detail: { ...shared.detail(), counted: await whereCounted(counters) },
      }),
    },
    purge: (rowsMax) => shared.purge(rowsMax),
    close: () => shared.close(),
  };
};

const whereCounted = async (
  counters: Pick<CountersWithFallback, 'probe'>,
): Promise<'together' | 'by each process'> => ((await counters.probe()) ? 'together' : 'by each process');

const inRedis = (url: string, { redisKeyPrefix, log }: RateLimitsOptions): SharedCounters => {
  const counters = createRedisCounters(url, redisKeyPrefix, log);
  return {
    counters,
    detail: () => ({ store: 'redis', evictionPolicy: counters.evictionPolicy ?? 'unknown' }),
    // Redis forgets them by itself.
    purge: async () => 0,
    close: async () => counters.close(),
  };
};

/** Connections of their own: no request waits longer for a count than it may, whatever others are doing. */
const inPostgres = ({ databaseUrl, log }: RateLimitsOptions): SharedCounters => {
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
  const counters = createPostgresCounters(pool);
  return {
    counters,
    detail: () => ({ store: 'postgres' }),
    purge: (rowsMax) => counters.purge(rowsMax),
    close: () => pool.end(),
  };
};

/** A metric for each time, a log line at most once a minute. */
const reportFallback = (log: Logger, registry: Registry): ((error: unknown) => void) => {
  const fallbacks = new Counter({
    name: 'rate_limit_fallbacks_total',
    help: 'Times that a limit was counted by this process alone, its shared counters being away',
    registers: [registry],
  });
  let loggedAt = -Infinity;
  return (error) => {
    fallbacks.inc();
    if (performance.now() - loggedAt < LOG_EVERY_MS) return;
    loggedAt = performance.now();
    log.error(
      { err: error },
      'the shared counters of the rate limits are away; each process counts by itself',
    );
  };
};
