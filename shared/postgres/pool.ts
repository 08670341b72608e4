import { Pool, type ClientConfig, type PoolClient } from 'pg';
import type { Logger } from 'pino';
import { SYSTEM_ACCESS } from './isolate-tenants.ts';

/** How long anything may wait on Postgres. The server gives up first, so that its answer is definite. */
export interface PostgresTimeouts {
  /** Server side: a statement is cancelled and rolled back after this. */
  readonly statementMs: number;
  /** Client side: no answer by then is an unknown outcome. Larger than `statementMs`. */
  readonly queryMs: number;
  /** Opening a connection, waiting for a free one included. */
  readonly connectMs: number;
}

/** A request must be answered within 3 s when Postgres stalls. */
export const requestTimeouts: PostgresTimeouts = { statementMs: 2_000, queryMs: 2_500, connectMs: 2_000 };

/** For whatever no request waits for: it rather takes longer than to end in its middle. */
export const longTimeouts: PostgresTimeouts = {
  statementMs: 20_000,
  queryMs: 25_000,
  connectMs: 20_000,
};

export interface PoolOptions {
  readonly connectionString: string;
  /** Shown in `pg_stat_activity`, to tell the connections of one process apart. */
  readonly applicationName: string;
  /** Connections at most. */
  readonly max: number;
  readonly timeouts?: PostgresTimeouts;
  /** Commits do not wait for the disk: the last few may be lost in a crash, never torn or out of order. */
  readonly asyncCommit?: boolean;
  /** Statements are planned once: for single probes of an index. */
  readonly planOnce?: boolean;
  /** No request's: sees every account's rows also where the policies are forced on the owner. */
  readonly system?: boolean;
  /** The schema that names without one are of. Default: the database's. */
  readonly searchPath?: string;
  /** Sets a new connection up; one that cannot be set up is not given out. */
  readonly verify?: (client: PoolClient) => Promise<void>;
}

/**
 * Every statement of this service is a few index probes. A prepared statement keeps the plan of the day it was
 * made, and one that was planned on an empty table reads, sorts or hashes whole tables ever after (measured: a
 * list of 50 at 16,000 advertisers, 295/s instead of thousands). So the other ways are not on offer.
 */
const indexPlansOnly = [
  'jit=off',
  'enable_seqscan=off',
  'enable_bitmapscan=off',
  'enable_hashjoin=off',
  'enable_mergejoin=off',
] as const;

/**
 * For statements that are single probes of an index, whose plan depends on nothing: it is made once for each
 * connection. By itself Postgres may plan them anew each time, which costs more than running them (measured: the
 * look-up of a key, 0.14 instead of 0.30 ms). Not for lists, whose first plan may be that of an empty table.
 */
const PLAN_ONCE = 'plan_cache_mode=force_generic_plan';

/** The settings of one connection; also for connections outside a pool (the append lanes, `LISTEN`). */
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

/** A pool whose connections may die at any moment without taking the process along. */
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

/**
 * Runs `work` in a transaction on one connection: committed when it resolves, rolled back when it throws.
 * A connection that failed in the middle is thrown away, never reused.
 */
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
