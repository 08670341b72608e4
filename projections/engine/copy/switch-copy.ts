import { DatabaseError, type Client } from 'pg';
import { sleep } from '../../../shared/async/backoff.ts';
import { failpoint } from '../../../shared/async/failpoints.ts';
import { advisoryLocks } from '../../../shared/postgres/advisory-locks.ts';
import { isCopyCurrent } from './copy-state.ts';
import { copySchemaOf, liveTable, quoted, quotedTable, type TableName } from './copy-schema.ts';
import { meetLive, type HeldCopy } from './meet-live.ts';

/** The switch was not made; the live read model is as it was. */
class SwitchRefusedError extends Error {
  override readonly name = 'SwitchRefusedError';
}

/**
 * How long a try waits for all the live tables together, in turn: readers queue behind it. The last is longer than
 * Postgres takes to end an autovacuum that is in the way (`deadlock_timeout`, 1 s), and with `EXCHANGE_MS` shorter than
 * any read waits (2 s).
 */
const LOCK_MS = [100, 200, 400, 1_300] as const;
/** How long dropping them may take: an autovacuum may be at what they keep apart (TOAST). */
const EXCHANGE_MS = 500;
/** For the copy's own tables, which nobody reads: an autovacuum may be at them. */
const COPY_LOCK_MS = 1_300;
const SHOWN_MAX = 20;
const TRIES = 40;
const PAUSE_MS = 500;

/**
 * Puts the copy in the place of the live read model, in one transaction with the checkpoint: whoever reads sees the one
 * or the other, whole. Of the copy it leaves a schema without the tables that were exchanged, which is to be dropped.
 * Statements that other processes have prepared find the new tables when they are next run: the
 * exchange of a table makes Postgres plan them anew.
 *
 * The checkpoint stays where it is, because both stand there; its epoch is raised, so that the live runner begins anew
 * with the parked streams of the copy, and no answer from memory is taken for one of the new rows.
 * @param allowParked also when it leaves out streams that the live one has
 * @throws SwitchRefusedError when somebody holds the tables all the time, the schema has changed meanwhile, or it would
 *   leave out what the live one has
 */
export const switchCopy = async (copy: HeldCopy, allowParked: boolean): Promise<void> => {
  for (let tries = 0; tries < TRIES; tries += 1) {
    copy.signal.throwIfAborted();
    try {
      failpoint('copy-before-switch');
      await meetLive(copy, () =>
        exchangeTables(copy, allowParked, LOCK_MS[tries % LOCK_MS.length] as number),
      );
      return;
    } catch (error) {
      if (!isLockTimeout(error)) throw error;
      // The fence is given up with the transaction: the live read model goes on between two tries.
      await sleep(PAUSE_MS * (1 + Math.random()), copy.signal);
    }
  }
  throw new SwitchRefusedError(
    `somebody uses the tables of ${copy.projection.name} all the time (a backup, say): run it again when they are free`,
  );
};

/** `lock_not_available`, `deadlock_detected`, `query_canceled`: a statement took longer than it may here. */
const isLockTimeout = (error: unknown): boolean =>
  error instanceof DatabaseError && ['55P03', '40P01', '57014'].includes(error.code ?? '');

const exchangeTables = async (copy: HeldCopy, allowParked: boolean, lockMs: number): Promise<void> => {
  const { guard, projection, maker } = copy;
  const { name, tables } = projection;
  const schema = copySchemaOf(name);
  await guard.query(`set local lock_timeout = ${COPY_LOCK_MS}`);
  // Nobody changes the schema until the commit; and nobody has since the copy was begun.
  await guard.query('select pg_advisory_xact_lock($1)', [advisoryLocks.migration]);
  if (!(await isCopyCurrent(guard, projection, maker))) {
    throw new SwitchRefusedError(
      `the tables of ${name}, or their rights, have changed since the copy was begun: run it again, it begins anew`,
    );
  }
  await refuseLeftOut(copy, allowParked);
  const live: TableName[] = [];
  for (const table of tables) live.push(await liveTable(guard, table));
  // The copy's first: once the live ones are held, everybody waits.
  const ofCopy = await tablesOf(guard, schema);
  await guard.query(lockWithin(ofCopy, COPY_LOCK_MS));
  failpoint('copy-in-switch');
  const literal = guard.escapeLiteral(name);
  // In one message, the commit included: how long readers wait is the server's time only, also when this process is
  // stopped or slow just now.
  await guard.query(
    [
      lockWithin(live, lockMs),
      `set local statement_timeout = ${EXCHANGE_MS}`,
      `drop table ${live.map(quotedTable).join(', ')}`,
      ...live.map(
        (old) => `alter table ${quotedTable({ schema, table: old.table })} set schema ${quoted(old.schema)}`,
      ),
      `delete from parked_streams where projection = ${literal}`,
      `insert into parked_streams select * from ${quoted(schema)}.parked_streams`,
      `update projection_checkpoints set epoch = epoch + 1 where name = ${literal}`,
      `delete from read_model_copies where name = ${literal}`,
      'commit',
    ].join(';\n'),
  );
};

/** All of them together wait no longer than that: a time for each lock (`lock_timeout`) would add up. */
const lockWithin = (tables: readonly TableName[], withinMs: number): string =>
  `set local statement_timeout = ${withinMs};
   lock table ${tables.map(quotedTable).join(', ')} in access exclusive mode`;

const tablesOf = async (guard: Client, schema: string): Promise<readonly TableName[]> => {
  const { rows } = await guard.query<TableName>(
    'select schemaname as schema, tablename as table from pg_tables where schemaname = $1 order by tablename',
    [schema],
  );
  return rows;
};

/**
 * Judged where the switch is made: until then streams are parked and applied on both sides. $1: the read model.
 * A side lacks of a stream what is behind the revision that it is parked at.
 */
const lackedBy = (lacking: string, other: string): string =>
  `select a.stream from ${lacking} a left join ${other} b on b.projection = a.projection and b.stream = a.stream
   where a.projection = $1 and (b.stream is null or a.revision < b.revision) order by a.stream limit ${SHOWN_MAX}`;

const refuseLeftOut = async ({ guard, projection }: HeldCopy, allowParked: boolean): Promise<void> => {
  const { name, work = [] } = projection;
  const ofCopy = `${quoted(copySchemaOf(name))}.parked_streams`;
  const streams = async (sql: string): Promise<string> => {
    const { rows } = await guard.query<{ stream: string }>(sql, [name]);
    return rows.map(({ stream }) => stream).join(', ');
  };
  const leftOut = allowParked ? '' : await streams(lackedBy(ofCopy, 'parked_streams'));
  if (leftOut !== '') {
    throw new SwitchRefusedError(
      `the new ${name} would leave out streams, or parts of them, that the live one has (${leftOut}): with --allow-parked ` +
        'it is put in place all the same, with --cancel what was made is dropped',
    );
  }
  // The live list of work would never get what such a stream has to be done for.
  const unapplied = work.length === 0 ? '' : await streams(lackedBy('parked_streams', ofCopy));
  if (unapplied !== '') {
    throw new SwitchRefusedError(
      `${name} has streams that are parked and can be applied now (${unapplied}): run \`parked retry ${name} STREAM\` ` +
        `for each first, so that the list of work gets what they ask for, then run it again`,
    );
  }
};
