import { DatabaseError, type Client } from 'pg';
import { sleep } from '../../../shared/async/backoff.ts';
import { failpoint } from '../../../shared/async/failpoints.ts';
import { advisoryLocks } from '../../../shared/postgres/advisory-locks.ts';
import { isCopyCurrent } from './copy-state.ts';
import { copySchemaOf, liveTables, quoted, quotedTable, type TableName } from './copy-schema.ts';
import { meetLive, type HeldCopy } from './meet-live.ts';

/** The live read model is unchanged. */
class SwitchRefusedError extends Error {
  override readonly name = 'SwitchRefusedError';
}

/**
 * Lock timeouts in turn, each for all live tables together, as readers queue behind the lock. The last
 * exceeds Postgres' wait before it cancels an autovacuum (`deadlock_timeout`, 1 s); with `EXCHANGE_MS` it is
 * below any read's (2 s).
 */
const LOCK_MS = [100, 200, 400, 1_300] as const;
/** Limit of the drop: an autovacuum may be processing the TOAST tables. */
const EXCHANGE_MS = 500;
/** Lock timeout of the copy's own tables: only an autovacuum may be processing them. */
const COPY_LOCK_MS = 1_300;
const SHOWN_MAX = 20;
const TRIES = 40;
const PAUSE_MS = 500;

/**
 * One transaction with the checkpoint: readers see one or the other, complete. Drops the copy's schema. Postgres plans other processes' prepared statements again, for the new tables. The
 * checkpoint keeps its position; its epoch is raised, so that the live runner restarts with the copy's parked
 * streams, and no cached answer is mistaken for one of the new rows.
 * @param allowParked also replaces it by a copy with parked streams that the live one has applied
 * @throws SwitchRefusedError if tables are permanently in use, the schema changed, or such streams are parked
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
      // The checkpoint's lock ends with the transaction: the live read model continues between two attempts.
      await sleep(PAUSE_MS * (1 + Math.random()), copy.signal);
    }
  }
  throw new SwitchRefusedError(
    `the tables of ${copy.projection.name} are permanently in use (e.g. by a backup): run it again when they are free`,
  );
};

/** `lock_not_available`, `deadlock_detected`, `query_canceled`: a statement exceeded its time limit. */
const isLockTimeout = (error: unknown): boolean =>
  error instanceof DatabaseError && ['55P03', '40P01', '57014'].includes(error.code ?? '');

const exchangeTables = async (copy: HeldCopy, allowParked: boolean, lockMs: number): Promise<void> => {
  const { guard, projection, maker } = copy;
  const { name, tables } = projection;
  const schema = copySchemaOf(name);
  await guard.query(`set local lock_timeout = ${COPY_LOCK_MS}`);
  // The lock prevents changes of the schema until the commit; the check finds earlier ones.
  await guard.query('select pg_advisory_xact_lock($1)', [advisoryLocks.migration]);
  if (!(await isCopyCurrent(guard, projection, maker))) {
    throw new SwitchRefusedError(
      `the tables of ${name}, or their rights, have changed since the copy was begun: run it again to restart it`,
    );
  }
  await refuseParked(copy, allowParked);
  const live = await liveTables(guard, tables);
  // The copy's tables first: once the live ones are locked, all readers wait.
  const ofCopy = await tablesOf(guard, schema);
  await guard.query(lockWithin(ofCopy, COPY_LOCK_MS));
  failpoint('copy-in-switch');
  const literal = guard.escapeLiteral(name);
  // One message, the commit included: readers wait for the server only, even if this process stops.
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
      `drop schema ${quoted(schema)} cascade`,
      'commit',
    ].join(';\n'),
  );
};

/** In total: `lock_timeout` applies to each lock, and the waits would add up. */
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
 * In the switch's transaction, as both sides still park and apply. A side lacks a parked stream's later
 * events.
 */
const lackedBy = (lacking: string, other: string): string =>
  `select a.stream from ${lacking} a left join ${other} b on b.projection = a.projection and b.stream = a.stream
   where a.projection = $1 and (b.stream is null or a.revision < b.revision) order by a.stream limit ${SHOWN_MAX}`;

const refuseParked = async ({ guard, projection }: HeldCopy, allowParked: boolean): Promise<void> => {
  const { name, work = [] } = projection;
  const ofCopy = `${quoted(copySchemaOf(name))}.parked_streams`;
  const streams = async (sql: string): Promise<string> => {
    const { rows } = await guard.query<{ stream: string }>(sql, [name]);
    return rows.map(({ stream }) => stream).join(', ');
  };
  const leftOut = allowParked ? '' : await streams(lackedBy(ofCopy, 'parked_streams'));
  if (leftOut !== '') {
    throw new SwitchRefusedError(
      `the new ${name} has parked streams that the live one has applied (${leftOut}). Use --allow-parked ` +
        'to replace it anyway, or --cancel to drop the copy',
    );
  }
  // The copy has applied these streams without writing the work list, so their work would never be requested.
  const unapplied = work.length === 0 ? '' : await streams(lackedBy('parked_streams', ofCopy));
  if (unapplied !== '') {
    throw new SwitchRefusedError(
      `${name} has streams that are parked and can be applied now (${unapplied}): run \`parked retry ${name}\` ` +
        `first, so that the work list gets what they ask for, then run it again`,
    );
  }
};
