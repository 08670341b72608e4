import { Client, type ClientBase, type ClientConfig } from 'pg';
import { START } from '../../../shared/event-store/event-store.ts';
import { failpoint } from '../../../shared/failpoints.ts';
import { advisoryLocks } from '../../../shared/postgres/advisory-locks.ts';
import { connectionConfig } from '../../../shared/postgres/pool.ts';
import { lockKeyOf } from '../leadership.ts';
import type { Projection } from '../projection.ts';
import { copySchemaOf, createTableLike, indexTableLike, liveTable, quoted } from './copy-schema.ts';

/** Another process makes a copy of the read model right now. */
class CopyBusyError extends Error {
  override readonly name = 'CopyBusyError';
}

/** A rebuild of a whole read model takes its time; no request waits for it. */
export const copyTimeouts = { statementMs: 3_600_000, queryMs: 3_660_000, connectMs: 5_000 } as const;

/** Of connections that make and compare copies. */
const copyConnection = (connectionString: string, searchPath?: string): ClientConfig =>
  connectionConfig({
    connectionString,
    applicationName: 'exchange-copy',
    system: true,
    asyncCommit: true,
    timeouts: copyTimeouts,
    ...(searchPath !== undefined && { searchPath }),
  });

export const connectCopy = async (connectionString: string, searchPath?: string): Promise<Client> => {
  const client = new Client(copyConnection(connectionString, searchPath));
  // Whoever waits for an answer is told; without a listener a lost connection would end the process.
  client.on('error', () => undefined);
  await client.connect();
  return client;
};

/**
 * Takes the copy of a read model for as long as `guard` is connected.
 * @throws CopyBusyError
 */
export const holdCopy = async (guard: ClientBase, projection: string): Promise<void> => {
  const { rows } = await guard.query<{ held: boolean }>(
    'select pg_try_advisory_lock($1::int, $2::int) as held',
    [advisoryLocks.readModelCopies, lockKeyOf(projection)],
  );
  if (rows[0]?.held !== true) {
    throw new CopyBusyError(
      `another process makes a copy of ${projection} right now: wait for it, or end it`,
    );
  }
};

/**
 * The copy that an earlier run left, when this program would make the same one; else a new one, empty.
 * @returns whether it was there
 */
export const beginCopy = async (
  guard: ClientBase,
  projection: Projection,
  program: string,
): Promise<boolean> => {
  const madeWith = await makingOf(guard, program);
  const { rows } = await guard.query<{ made_with: string }>(
    'select made_with from read_model_copies where name = $1',
    [projection.name],
  );
  if (rows[0]?.made_with === madeWith) return true;
  await inTransactionOf(guard, async () => {
    await dropCopy(guard, projection.name);
    const schema = copySchemaOf(projection.name);
    await guard.query(`create schema ${quoted(schema)}`);
    for (const table of ['projection_checkpoints', 'parked_streams', ...projection.tables]) {
      const live = await liveTable(guard, table);
      const copy = await createTableLike(guard, live, schema);
      // What is filled in bulk has them when it is full; what is not looks its rows up by them.
      if (projection.bulk === undefined) await indexTableLike(guard, live, copy);
    }
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

/** The program and the schema of the database that make a copy: with another of either it may have to be another. */
const makingOf = async (client: ClientBase, program: string): Promise<string> => {
  const { rows } = await client.query<{ last: string }>(
    `select count(*) || ' ' || max(name) as last from knex_migrations`,
  );
  return `${program}, schema ${rows[0]?.last ?? ''}`;
};

/** True when neither program nor schema have changed since the copy was begun. */
export const isCopyCurrent = async (
  client: ClientBase,
  projection: string,
  program: string,
): Promise<boolean> => {
  const { rows } = await client.query<{ made_with: string }>(
    'select made_with from read_model_copies where name = $1',
    [projection],
  );
  return rows[0]?.made_with === (await makingOf(client, program));
};

/** Removes all that there is of a copy. @returns whether there was any */
export const dropCopy = async (client: ClientBase, projection: string): Promise<boolean> => {
  const { rowCount } = await client.query('delete from read_model_copies where name = $1', [projection]);
  await client.query(`drop schema if exists ${quoted(copySchemaOf(projection))} cascade`);
  return rowCount === 1;
};

export const inTransactionOf = async <T>(client: ClientBase, work: () => Promise<T>): Promise<T> => {
  await client.query('begin');
  try {
    const result = await work();
    await client.query('commit');
    return result;
  } catch (error) {
    await client.query('rollback').catch(() => undefined);
    throw error;
  }
};
