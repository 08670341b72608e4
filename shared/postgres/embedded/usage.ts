import { Client } from 'pg';
import { settled } from '../../async/timeout.ts';
import { stopPostgres, type RunnableCluster } from './pg-ctl.ts';

/** Every user of this Postgres shares the lock; the only user gets it exclusively. In the database `postgres`. */
const USERS_LOCK = 7_216_000;

const CONNECT_TIMEOUT_MS = 3_000;
const QUERY_TIMEOUT_MS = 3_000;
const FAREWELL_MS = 1_000;

export interface Usage {
  readonly lost: Promise<void>;
  /** True if no other process was registered, so that Postgres was stopped. */
  end(): Promise<boolean>;
}

export class ForeignServerError extends Error {
  override readonly name = 'ForeignServerError';
}

/** A superuser has reserved connections. Undefined while the last user stops Postgres. */
export const openUsage = async (adminUrl: string, cluster: RunnableCluster): Promise<Usage | undefined> => {
  const client = new Client({
    connectionString: adminUrl,
    application_name: 'exchange-supervisor',
    connectionTimeoutMillis: CONNECT_TIMEOUT_MS,
    query_timeout: QUERY_TIMEOUT_MS,
    keepAlive: true,
  });
  let resolveLost = (): void => undefined;
  const lost = new Promise<void>((resolve) => (resolveLost = resolve));
  // `end` follows each `error`.
  client.on('error', () => undefined);
  client.on('end', resolveLost);
  const ask = async (sql: string, values: readonly unknown[] = []): Promise<unknown> => {
    const { rows } = await client.query<{ answer: unknown }>(sql, [...values]);
    return rows[0]?.answer;
  };
  // A stalled server does not answer `end`.
  const leave = (): Promise<void> => settled(FAREWELL_MS, client.end());
  try {
    await client.connect();
    // The password is not a proof: a copy of the data folder has the same one.
    if ((await ask(`select current_setting('data_directory') as answer`)) !== cluster.dataDirectory) {
      throw new ForeignServerError('another Postgres listens at the port of this one');
    }
    if ((await ask('select pg_try_advisory_lock_shared($1) as answer', [USERS_LOCK])) !== true) {
      await leave();
      return undefined;
    }
  } catch (error) {
    await leave();
    throw error;
  }
  // If the process dies, the next start takes over Postgres.
  (client as unknown as { unref(): void }).unref();
  return {
    lost,
    end: async () => {
      try {
        await ask('select pg_advisory_unlock_shared($1) as answer', [USERS_LOCK]);
        const isLast = await ask('select pg_try_advisory_lock($1) as answer', [USERS_LOCK]);
        if (isLast === true) await stopPostgres(cluster);
        return isLast === true;
      } finally {
        await leave();
      }
    },
  };
};
