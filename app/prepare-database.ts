import type { Pool } from 'pg';
import { backoffMs, sleep } from '../shared/async/backoff.ts';
import { ConfigError, isConfigError, type Config } from './config.ts';
import type { EventStore, Position } from '../shared/event-store/event-store.ts';
import type { Logger } from 'pino';
import { connectionProblem, UnreachableDatabaseError } from '../shared/postgres/connection-problem.ts';

interface Database {
  readonly databaseUrl: string;
  readonly pool: Pool;
  readonly store: Pick<EventStore, 'distance'>;
  migrate(): Promise<void>;
}

const RETRY = { baseMs: 100, capMs: 2_000 };

/** Waits for the database. @returns false if aborted @throws an `isConfigError` if it must not be used */
export const prepareDatabase = async (
  database: Database,
  config: Config,
  log: Logger,
  signal: AbortSignal,
): Promise<boolean> => {
  for (let attempt = 1; !signal.aborted; attempt++) {
    try {
      await refuseSuperuser(database, config);
      await database.migrate();
      await refuseOtherLog(database);
      return true;
    } catch (error) {
      if (isConfigError(error)) throw error;
      if (error instanceof UnreachableDatabaseError) log.warn({ attempt }, error.message);
      else log.warn({ err: error, attempt }, 'the database cannot be prepared yet; trying again');
      await sleep(backoffMs(attempt, RETRY), signal);
    }
  }
  return false;
};

/** Row-level security does not bind a superuser. */
const refuseSuperuser = async ({ pool, databaseUrl }: Database, config: Config): Promise<void> => {
  if (config.NODE_ENV !== 'production') return;
  const { rows } = await pool
    .query<{ superuser: boolean }>(`select rolsuper as superuser from pg_roles where rolname = current_user`)
    .catch((error: unknown) => {
      throw connectionProblem(error, databaseUrl);
    });
  if (rows[0]?.superuser === true) {
    throw new ConfigError(
      'Wrong configuration.\n  DATABASE_URL: its role is a superuser; production needs an ordinary role',
    );
  }
};

/** Two kinds of event store do not share positions: reads would wait for wrong ones. */
const refuseOtherLog = async ({ pool, store }: Database): Promise<void> => {
  const { rows } = await pool.query<{ position: Position }>('select position from projection_checkpoints');
  for (const { position } of rows) {
    try {
      store.distance(position, position);
    } catch (error) {
      if (!(error instanceof RangeError)) throw error;
      throw new ConfigError(
        'Wrong configuration.\n  EVENTSTORE_URL: the read models in the database were made from another event store; ' +
          'run `npx exchange read-models rebuild --offline` with these settings, or set the other one again',
      );
    }
  }
};
