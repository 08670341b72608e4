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
  createTableLike,
  indexStatements,
  liveTable,
  quoted,
  shapeOf,
  type TableName,
} from './copy-schema.ts';

/** Another process makes a copy of the read model right now. */
class CopyBusyError extends Error {
  override readonly name = 'CopyBusyError';
}

/** The database was migrated by a newer program: this one does not know what the tables are to be. */
class NewerSchemaError extends Error {
  override readonly name = 'NewerSchemaError';
}

/** What makes a copy. Another of any of them may make other rows of the same events, or of other events. */
export interface Maker {
  readonly program: string;
  /** Names of the migrations that the program knows. */
  readonly migrations: readonly string[];
  /** Which log the rows are made of (`identityOf`). */
  readonly log: string;
}

/** To look at the live tables, which takes the weakest of locks on each. */
const LOCK_MS_MAX = 5_000;

/** A rebuild of a whole read model takes its time; no request waits for it. */
export const copyTimeouts = { statementMs: 3_600_000, queryMs: 3_660_000, connectMs: 60_000 } as const;

/** Of connections that make and compare copies. */
const copyConnection = (connectionString: string, applicationName: string): ClientConfig =>
  connectionConfig({
    connectionString,
    applicationName,
    system: true,
    asyncCommit: true,
    timeouts: copyTimeouts,
  });

/** Who holds a copy, for whoever looks who that is; Postgres keeps 63 bytes of it. */
const holdingName = (): string => `exchange-copy by ${hostname()} process ${process.pid}`;

export const connectCopy = async (
  connectionString: string,
  applicationName = holdingName(),
): Promise<Client> => {
  const client = new Client(copyConnection(connectionString, applicationName));
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
 * @param livePosition of the live read model: a copy that is ahead of it is of a time before that was reset
 * @returns whether it was there
 * @throws NewerSchemaError
 */
export const beginCopy = async (
  guard: ClientBase,
  projection: Projection,
  maker: Maker,
  livePosition: Position,
): Promise<boolean> => {
  // A migration that is at the live tables is not waited for.
  await guard.query(`set lock_timeout = ${LOCK_MS_MAX}`);
  const madeWith = await makingOf(guard, projection, maker);
  const isSame = (await madeWithOf(guard, projection)) === madeWith;
  if (isSame && comparePositions(await positionOf(guard, projection), livePosition) <= 0) {
    // A program before this one made them last, and was perhaps ended before.
    await makeIndexes(guard, projection);
    return true;
  }
  await inTransactionOf(guard, async () => {
    await dropCopy(guard, projection.name);
    const schema = copySchemaOf(projection.name);
    await guard.query(`create schema ${quoted(schema)}`);
    for (const table of tablesOf(projection)) {
      await createTableLike(guard, await liveTable(guard, table), schema);
    }
    await makeIndexes(guard, projection);
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

const tablesOf = ({ tables, work = [] }: Projection): readonly string[] => [
  'projection_checkpoints',
  'parked_streams',
  ...(work.length > 0 ? ['work_list'] : []),
  ...tables,
];

/** Before the copy is filled: Postgres has time to spare for them while events are being folded, and none later. */
const makeIndexes = async (guard: ClientBase, projection: Projection): Promise<void> => {
  const schema = copySchemaOf(projection.name);
  for (const table of tablesOf(projection)) {
    const live = await liveTable(guard, table);
    const lacking = await indexStatements(guard, live, { schema, table: live.table });
    if (lacking.length > 0) await guard.query(lacking.join(';\n'));
  }
};

const positionOf = async (client: ClientBase, { name }: Projection): Promise<Position> => {
  const { rows } = await client.query<{ position: Position }>(
    `select position from ${quoted(copySchemaOf(name))}.projection_checkpoints where name = $1`,
    [name],
  );
  return rows[0]?.position ?? START;
};

/** The maker, and what the live tables are now: rights that were granted since then, say, a copy would not have. */
const makingOf = async (
  client: ClientBase,
  projection: Projection,
  { program, migrations, log }: Maker,
): Promise<string> => {
  const { rows } = await client.query<{ name: string }>('select name from knex_migrations');
  const unknown = rows.map(({ name }) => name).filter((name) => !migrations.includes(name));
  if (unknown.length > 0) {
    throw new NewerSchemaError(
      `the database has migrations that this program does not know (${unknown.join(', ')}): run that of the newer version`,
    );
  }
  const tables: TableName[] = [];
  for (const table of projection.tables) tables.push(await liveTable(client, table));
  return `${program}, log ${log}, schema ${rows.length}, tables ${await shapeOf(client, tables)}`;
};

const madeWithOf = async (client: ClientBase, { name }: Projection): Promise<string | undefined> => {
  const { rows } = await client.query<{ made_with: string }>(
    'select made_with from read_model_copies where name = $1',
    [name],
  );
  return rows[0]?.made_with;
};

/**
 * True when neither the program nor the schema nor what the live tables are have changed since the copy was begun.
 * @throws NewerSchemaError
 */
export const isCopyCurrent = async (
  client: ClientBase,
  projection: Projection,
  maker: Maker,
): Promise<boolean> => (await madeWithOf(client, projection)) === (await makingOf(client, projection, maker));

/** Removes all that there is of a copy. @returns whether there was any */
export const dropCopy = async (client: ClientBase, projection: string): Promise<boolean> => {
  // Both or neither; the schema first: whoever replaces the copy just now is waited for there, and the row is looked for
  // behind that.
  const results: unknown = await client.query(
    `drop schema if exists ${quoted(copySchemaOf(projection))} cascade;
     delete from read_model_copies where name = ${client.escapeLiteral(projection)}`,
  );
  return (results as readonly QueryResult[]).at(-1)?.rowCount === 1;
};

/**
 * A transaction that may hold the live read model's fence waits for the copy's last batches, longer than those of
 * requests may be idle. A process that was stopped in the middle still must not hold it for ever.
 */
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
