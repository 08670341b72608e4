import { Client } from 'pg';
import { settled } from '../../async/timeout.ts';
import { stopPostgres, type RunnableCluster } from './pg-ctl.ts';

/**
 * Every process that uses this Postgres holds this lock, shared, for as long as it lives; who gets it
 * exclusively is alone. In the database `postgres`: it cannot meet the locks of `advisory-locks.ts`.
 */
const USERS_LOCK = 7_216_000;

const CONNECT_TIMEOUT_MS = 3_000;
const QUERY_TIMEOUT_MS = 3_000;
const FAREWELL_MS = 1_000;

/** This process's mark as a user of the Postgres behind it. */
export interface Usage {
  /** Resolves when the connection, and with it the mark, is gone. */
  readonly lost: Promise<void>;
  /** Gives the mark back, and stops Postgres if nobody else holds one. @returns whether it was stopped */
  end(): Promise<boolean>;
}

/** Something listens at the port, and it is not the Postgres of this data directory. */
export class ForeignServerError extends Error {
  override readonly name = 'ForeignServerError';
}

/**
 * Connects as superuser, which succeeds even when all ordinary connections are taken.
 * @returns undefined when Postgres is just being stopped by its last user
 * @throws ForeignServerError when it is another cluster
 */
export const openUsage = async (adminUrl: string, cluster: RunnableCluster): Promise<Usage | undefined> => {
  const client = new Client({
    connectionString: adminUrl,
    application_name: 'exchange-supervisor',
    connectionTimeoutMillis: CONNECT_TIMEOUT_MS,
    query_timeout: QUERY_TIMEOUT_MS,
    keepAlive: true,
  });
  let markLost = (): void => undefined;
  const lost = new Promise<void>((resolve) => (markLost = resolve));
  // An error is always followed by the end.
  client.on('error', () => undefined);
  client.on('end', markLost);
  const ask = async (sql: string, values: readonly unknown[] = []): Promise<unknown> => {
    const { rows } = await client.query<{ answer: unknown }>(sql, [...values]);
    return rows[0]?.answer;
  };
  // A stalled server does not answer a farewell.
  const leave = (): Promise<void> => settled(FAREWELL_MS, client.end());
  try {
    await client.connect();
    // Knowing the password proves the server to us, too (SCRAM); but a copy of the folder knows it as well.
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
  // An idle mark keeps no process from ending; dying, it leaves Postgres to the next start.
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
