import { hostname } from 'node:os';
import { Client, type ClientBase, type ClientConfig, type QueryResult } from 'pg';
import { comparePositions, START, type Position } from '../../../shared/event-store/event-store.ts';
import { failpoint } from '../../../shared/async/failpoints.ts';
import { advisoryLocks } from '../../../shared/postgres/advisory-locks.ts';
import { connectionConfig } from '../../../shared/postgres/pool.ts';
import { lockKeyOf } from '../leadership.ts';
import type { Projection } from '../projection.ts';
import {
  copySchemaOf,
  createIndexesLike,
  createTablesLike,
  liveTables,
  quoted,
  shapeOf,
} from './copy-schema.ts';

class CopyBusyError extends Error {
  override readonly name = 'CopyBusyError';
}

/** A newer program migrated the database, so the schema is unknown. */
class NewerSchemaError extends Error {
  override readonly name = 'NewerSchemaError';
}

/** With another value, the same events may give other rows. */
export interface Maker {
  readonly program: string;
  readonly migrations: readonly string[];
  readonly log: string;
}

/** Longest wait for the weakest lock on each live table. */
const LOCK_MS_MAX = 5_000;

/** A rebuild takes long, and no request waits for it. */
export const copyTimeouts = { statementMs: 3_600_000, queryMs: 3_660_000, connectMs: 60_000 } as const;

const copyConnection = (connectionString: string, applicationName: string): ClientConfig =>
  connectionConfig({
    connectionString,
    applicationName,
    system: true,
    asyncCommit: true,
    timeouts: copyTimeouts,
  });

/** Identifies the holder of a copy to operators; Postgres keeps 63 bytes. */
const holdingName = (): string => `exchange-copy by ${hostname()} process ${process.pid}`;

export const connectCopy = async (
  connectionString: string,
  applicationName = holdingName(),
): Promise<Client> => {
  const client = new Client(copyConnection(connectionString, applicationName));
  // The pending query fails anyway; without a listener a lost connection would end the process.
  client.on('error', () => undefined);
  await client.connect();
  return client;
};

/** Locks the copy until `guard` disconnects. @throws CopyBusyError */
export const holdCopy = async (guard: ClientBase, projection: string): Promise<void> => {
  const { rows } = await guard.query<{ held: boolean }>(
    'select pg_try_advisory_lock($1::int, $2::int) as held',
    [advisoryLocks.readModelCopies, lockKeyOf(projection)],
  );
  if (rows[0]?.held !== true) {
    throw new CopyBusyError(`another process is building a copy of ${projection}: wait for it, or stop it`);
  }
};

/**
 * @param livePosition a copy after it was begun before a reset
 * @returns true if it continues an earlier copy
 * @throws NewerSchemaError
 */
export const beginCopy = async (
  guard: ClientBase,
  projection: Projection,
  maker: Maker,
  livePosition: Position,
): Promise<boolean> => {
  // Does not wait for a migration of the live tables.
  await guard.query(`set lock_timeout = ${LOCK_MS_MAX}`);
  const madeWith = await makingOf(guard, projection, maker);
  const isSame = (await madeWithOf(guard, projection)) === madeWith;
  if (isSame && comparePositions(await positionOf(guard, projection), livePosition) <= 0) {
    // An older program built indexes last, and was perhaps killed before that.
    await createIndexesLike(guard, await liveTables(guard, projection.tables), copySchemaOf(projection.name));
    return true;
  }
  await inTransactionOf(guard, async () => {
    await dropCopy(guard, projection.name);
    const schema = copySchemaOf(projection.name);
    // Only the projection's own tables become the live ones.
    await guard.query(
      `create schema ${quoted(schema)};
       create table ${quoted(schema)}.projection_checkpoints (like projection_checkpoints including all);
       create table ${quoted(schema)}.parked_streams (like parked_streams including all)`,
    );
    // Indexes before the copy is filled: while events are folded, Postgres has time for index updates.
    await createTablesLike(guard, await liveTables(guard, projection.tables), schema);
    await guard.query(
      `insert into ${quoted(schema)}.projection_checkpoints (name, position) values ($1, $2)`,
      [projection.name, START],
    );
    await guard.query('insert into read_model_copies (name, made_with) values ($1, $2)', [
      projection.name,
      madeWith,
    ]);
  });
  failpoint('copy-created');
  return false;
};

const positionOf = async (client: ClientBase, { name }: Projection): Promise<Position> => {
  const { rows } = await client.query<{ position: Position }>(
    `select position from ${quoted(copySchemaOf(name))}.projection_checkpoints where name = $1`,
    [name],
  );
  return rows[0]?.position ?? START;
};

/** Includes the shape of the live tables: the copy would lack e.g. later grants. */
const makingOf = async (
  client: ClientBase,
  projection: Projection,
  { program, migrations, log }: Maker,
): Promise<string> => {
  const { rows } = await client.query<{ name: string }>('select name from knex_migrations');
  const unknown = rows.map(({ name }) => name).filter((name) => !migrations.includes(name));
  if (unknown.length > 0) {
    throw new NewerSchemaError(
      `the database has migrations that this program does not know (${unknown.join(', ')}): use the newer version`,
    );
  }
  const tables = await liveTables(client, projection.tables);
  return `${program}, log ${log}, schema ${rows.length}, tables ${await shapeOf(client, tables)}`;
};

const madeWithOf = async (client: ClientBase, { name }: Projection): Promise<string | undefined> => {
  const { rows } = await client.query<{ made_with: string }>(
    'select made_with from read_model_copies where name = $1',
    [name],
  );
  return rows[0]?.made_with;
};

/** False if program, schema or shape of the live tables has changed. @throws NewerSchemaError */
export const isCopyCurrent = async (
  client: ClientBase,
  projection: Projection,
  maker: Maker,
): Promise<boolean> => (await madeWithOf(client, projection)) === (await makingOf(client, projection, maker));

export const dropCopy = async (client: ClientBase, projection: string): Promise<boolean> => {
  // Both or none. The drop waits for a process that is replacing the copy; the row is searched after that.
  const results: unknown = await client.query(
    `drop schema if exists ${quoted(copySchemaOf(projection))} cascade;
     delete from read_model_copies where name = ${client.escapeLiteral(projection)}`,
  );
  return (results as readonly QueryResult[]).at(-1)?.rowCount === 1;
};

/** Suffices for the copy's last batches, but a stopped process does not hold the lock forever. */
const IDLE_MS_MAX = 60_000;

export const inTransactionOf = async <T>(client: ClientBase, work: () => Promise<T>): Promise<T> => {
  await client.query(`begin; set local idle_in_transaction_session_timeout = ${IDLE_MS_MAX}`);
  try {
    const result = await work();
    await client.query('commit');
    return result;
  } catch (error) {
    await client.query('rollback').catch(() => undefined);
    throw error;
  }
};
