import { Pool, type ClientConfig, type PoolClient } from 'pg';
import type { Logger } from 'pino';
import { SYSTEM_ACCESS } from './isolate-tenants.ts';

/** Limits for Postgres calls. The server's limit is shorter, so that a slow statement has a definite outcome. */
export interface PostgresTimeouts {
  /** Server side, in ms: the statement is cancelled and rolled back after this time. */
  readonly statementMs: number;
  /** Client side, in ms: after this time the outcome is unknown. Must be larger than `statementMs`. */
  readonly queryMs: number;
  /** Time to open a connection, in ms, including the wait for a free one. */
  readonly connectMs: number;
}

/** A request must be answered within 3 s even if Postgres stalls. */
export const requestTimeouts: PostgresTimeouts = { statementMs: 2_000, queryMs: 2_500, connectMs: 2_000 };

/** For work outside requests: finishing late is better than stopping halfway. */
export const longTimeouts: PostgresTimeouts = {
  statementMs: 20_000,
  queryMs: 25_000,
  connectMs: 20_000,
};

export interface PoolOptions {
  readonly connectionString: string;
  /** Shown in `pg_stat_activity`. */
  readonly applicationName: string;
  readonly max: number;
  readonly timeouts?: PostgresTimeouts;
  /** Commits do not wait for the disk. A crash can lose the last commits, but never tears or reorders them. */
  readonly asyncCommit?: boolean;
  /** Uses generic plans. Only for statements that probe one index. */
  readonly planOnce?: boolean;
  /** Not for requests: sees the rows of all accounts even if policies are forced on the owner. */
  readonly system?: boolean;
  /** Schema for names without a schema. Default: the database's. */
  readonly searchPath?: string;
  /** Prepares a new connection. If this fails, the connection is not used. */
  readonly verify?: (client: PoolClient) => Promise<void>;
}

/**
 * All statements of this service are a few index probes. A prepared statement keeps its plan. If it was planned while
 * the table was empty, it scans, sorts or hashes whole tables later. (Measured: a list of 50 of 16,000 rows,
 * 295/s instead of thousands.) Therefore the other plan types are disabled.
 */
const indexPlansOnly = [
  'jit=off',
  'enable_seqscan=off',
  'enable_bitmapscan=off',
  'enable_hashjoin=off',
  'enable_mergejoin=off',
] as const;

/**
 * For statements that probe one index: the plan does not depend on the values, so each connection plans once.
 * Otherwise Postgres may plan at each execution, which costs more than the execution (measured: key lookup, 0.14
 * instead of 0.30 ms). Not for lists: their first plan may be made for an empty table.
 */
const PLAN_ONCE = 'plan_cache_mode=force_generic_plan';

/** Returns the settings of one connection, also for connections outside a pool (append partitions, `LISTEN`). */
export const connectionConfig = (options: Omit<PoolOptions, 'max' | 'verify'>): ClientConfig => {
  const { statementMs, queryMs, connectMs } = options.timeouts ?? requestTimeouts;
  return {
    connectionString: options.connectionString,
    application_name: options.applicationName,
    statement_timeout: statementMs,
    query_timeout: queryMs,
    connectionTimeoutMillis: connectMs,
    idle_in_transaction_session_timeout: 5_000,
    keepAlive: true,
    keepAliveInitialDelayMillis: 5_000,
    options: [
      ...indexPlansOnly,
      ...(options.planOnce === true ? [PLAN_ONCE] : []),
      ...(options.asyncCommit === true ? ['synchronous_commit=off'] : []),
      ...(options.system === true ? [SYSTEM_ACCESS] : []),
      ...(options.searchPath === undefined ? [] : [`search_path=${options.searchPath}`]),
    ]
      .map((setting) => `-c ${setting}`)
      .join(' '),
  };
};

/** Creates a pool that survives broken connections. */
export const createPool = (options: PoolOptions, log: Logger): Pool => {
  const { verify } = options;
  const pool = new Pool({
    ...connectionConfig(options),
    max: options.max,
    idleTimeoutMillis: 30_000,
    ...(verify && { verify: (client, settle) => void verify(client).then(() => settle(), settle) }),
  });
  const onError = (error: Error): void => log.warn({ err: error }, 'postgres connection lost');
  pool.on('error', onError);
  pool.on('connect', (client) => client.on('error', onError));
  return pool;
};

/** Runs `work` in a transaction: commits when it resolves, rolls back when it throws. Discards a broken connection. */
export const inTransaction = async <T>(pool: Pool, work: (client: PoolClient) => Promise<T>): Promise<T> => {
  const client = await pool.connect();
  let broken: Error | undefined;
  try {
    await client.query('begin');
    const result = await work(client);
    await client.query('commit');
    return result;
  } catch (error) {
    await client.query('rollback').catch((rollbackError: Error) => {
      broken = rollbackError;
    });
    throw error;
  } finally {
    client.release(broken);
  }
};
