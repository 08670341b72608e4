import { Pool, type ClientConfig, type PoolClient } from 'pg';
import type { Logger } from 'pino';
import { SYSTEM_ACCESS } from './isolate-tenants.ts';

/** The server's limit is shorter, so that a slow statement has a definite outcome. */
export interface PostgresTimeouts {
  readonly statementMs: number;
  /** In the client: then the outcome is unknown. Larger than `statementMs`. */
  readonly queryMs: number;
  readonly connectMs: number;
}

/** A request must be answered within 3 s even if Postgres stalls. */
export const requestTimeouts: PostgresTimeouts = { statementMs: 2_000, queryMs: 2_500, connectMs: 2_000 };

/** Outside requests: finishing late is better than stopping halfway. */
export const longTimeouts: PostgresTimeouts = {
  statementMs: 20_000,
  queryMs: 25_000,
  connectMs: 20_000,
};

export interface PoolOptions {
  readonly connectionString: string;
  readonly applicationName: string;
  readonly max: number;
  readonly timeouts?: PostgresTimeouts;
  /** A crash can lose the last commits, but never tears or reorders them. */
  readonly asyncCommit?: boolean;
  /** Uses generic plans. Only for statements that probe one index. */
  readonly planOnce?: boolean;
  /** Not for requests: sees the rows of all accounts even if policies are forced on the owner. */
  readonly system?: boolean;
  readonly searchPath?: string;
  readonly verify?: (client: PoolClient) => Promise<void>;
}

// A prepared statement keeps the plan of an empty table, and then scans whole tables (measured: a list of 50
// of 16,000 rows, 295/s instead of thousands). All statements here are index probes.
const indexPlansOnly = [
  'jit=off',
  'enable_seqscan=off',
  'enable_bitmapscan=off',
  'enable_hashjoin=off',
  'enable_mergejoin=off',
] as const;

/** With planning, a key lookup takes 0.30 instead of 0.14 ms. Not for lists: a first plan may scan. */
const PLAN_ONCE = 'plan_cache_mode=force_generic_plan';

/** Regardless of the server's own settings, timestamps arrive as `2026-11-28 09:30:00.123456+00`. */
const TIMESTAMPS = ['TimeZone=UTC', 'DateStyle=ISO'] as const;

/** Also for connections outside a pool. */
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
      ...TIMESTAMPS,
      ...(options.planOnce === true ? [PLAN_ONCE] : []),
      ...(options.asyncCommit === true ? ['synchronous_commit=off'] : []),
      ...(options.system === true ? [SYSTEM_ACCESS] : []),
      ...(options.searchPath === undefined ? [] : [`search_path=${options.searchPath}`]),
    ]
      .map((setting) => `-c ${setting}`)
      .join(' '),
  };
};

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
