import { DatabaseError } from 'pg';
import { sleep } from '../../../shared/backoff.ts';
import { failpoint } from '../../../shared/failpoints.ts';
import { advisoryLocks } from '../../../shared/postgres/advisory-locks.ts';
import { isCopyCurrent } from './copy-state.ts';
import { copySchemaOf, liveTable, quoted, quotedTable } from './copy-schema.ts';
import { meetLive, type HeldCopy } from './meet-live.ts';

/** The switch was not made; the live read model is as it was. */
export class SwitchRefusedError extends Error {
  override readonly name = 'SwitchRefusedError';
}

/**
 * How long a try waits for the tables, in turn: readers queue behind it. The last is longer than Postgres takes to end an
 * autovacuum that is in the way (`deadlock_timeout`, 1 s), and shorter than any read waits (2 s).
 */
const LOCK_MS = [100, 200, 400, 1_300] as const;
const TRIES = 40;
const PAUSE_MS = 500;

/**
 * Puts the copy in the place of the live read model, in one transaction with the checkpoint, and leaves an empty schema: whoever reads sees the one
 * or the other, whole. Statements that other processes have prepared find the new tables when they are next run: the
 * exchange of a table makes Postgres plan them anew.
 *
 * The checkpoint stays where it is, because both stand there; its epoch is raised, so that the live runner begins anew
 * with the parked streams of the copy, and no answer from memory is taken for one of the new rows.
 * @throws SwitchRefusedError when somebody holds the tables all the time, or the schema has changed meanwhile
 */
export const switchCopy = async (copy: HeldCopy, program: string): Promise<void> => {
  for (let tries = 0; tries < TRIES; tries += 1) {
    copy.signal.throwIfAborted();
    try {
      failpoint('copy-before-switch');
      await meetLive(copy, () => exchangeTables(copy, program, LOCK_MS[tries % LOCK_MS.length] as number));
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

/** `lock_not_available`, `deadlock_detected`. */
const isLockTimeout = (error: unknown): boolean =>
  error instanceof DatabaseError && (error.code === '55P03' || error.code === '40P01');

const exchangeTables = async (copy: HeldCopy, program: string, lockMs: number): Promise<void> => {
  const { guard, projection } = copy;
  const { name, tables, workLists = [] } = projection;
  const schema = copySchemaOf(name);
  await guard.query(`set local lock_timeout = ${lockMs}`);
  // Nobody changes the schema until the commit; and nobody has since the copy was begun.
  await guard.query('select pg_advisory_xact_lock($1)', [advisoryLocks.migration]);
  if (!(await isCopyCurrent(guard, name, program))) {
    throw new SwitchRefusedError(`the schema has changed since the copy of ${name} was begun: run it again`);
  }
  const exchanged = tables.filter((table) => !workLists.includes(table));
  const live = [];
  for (const table of exchanged) live.push(await liveTable(guard, table));
  failpoint('copy-in-switch');
  const literal = guard.escapeLiteral(name);
  // In one message, the commit included: how long readers wait is the server's time only, also when this process is
  // stopped or slow just now.
  await guard.query(
    [
      `lock table ${live.map(quotedTable).join(', ')} in access exclusive mode`,
      ...live.flatMap((old) => [
        `drop table ${quotedTable(old)}`,
        `alter table ${quotedTable({ schema, table: old.table })} set schema ${quoted(old.schema)}`,
      ]),
      `delete from parked_streams where projection = ${literal}`,
      `insert into parked_streams select * from ${quoted(schema)}.parked_streams`,
      `update projection_checkpoints set epoch = epoch + 1 where name = ${literal}`,
      `delete from read_model_copies where name = ${literal}`,
      'commit',
    ].join(';\n'),
  );
};
