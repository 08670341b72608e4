import type { Pool } from 'pg';
import { comparePositions, type Position } from '../../../shared/event-store/event-store.ts';
import { failpoint } from '../../../shared/failpoints.ts';
import { inTransaction } from '../../../shared/postgres/pool.ts';
import { withChildSignal } from '../child-signal.ts';
import { moveCheckpoint, openCheckpoint, type Checkpoint } from '../checkpoint.ts';
import { isFaultOfEvent } from '../failure.ts';
import type { BulkFolding, Projection } from '../projection.ts';
import { takeAhead } from '../take-ahead.ts';
import { fillCopy, upTo, type BulkLimits, type FillOptions } from './fill-copy.ts';

const LIMITS: BulkLimits = { pageEvents: 5_000, bytesMax: 512 * 1024 * 1024 };
/** It is also written after so many events: what a kill costs is no more than folding them again. */
const EVENTS_MAX = 1_000_000;

/**
 * As `fillCopy`, for read models that can fold in memory: rows and checkpoint are written together and seldom. What
 * cannot be folded is left to `fillCopy`, with all that was to be written with it: that parks its stream.
 */
export const fillInBulk = async (options: FillOptions, target: Position): Promise<Checkpoint> => {
  const { projection, pool } = options;
  if (projection.bulk === undefined || (await isGuarded(pool, projection))) return fillCopy(options, target);
  for (;;) {
    const checkpoint = await openCheckpoint(pool, projection.name);
    if (comparePositions(checkpoint.position, target) >= 0) return checkpoint;
    const otherWay = await foldUpTo(options, projection.bulk(), checkpoint, target);
    if (otherWay === undefined) continue;
    await fillCopy(options, otherWay);
  }
};

/** Whether policies hold for who writes the copy, too: Postgres takes no rows by COPY then. */
const isGuarded = async (pool: Pool, { tables }: Projection): Promise<boolean> => {
  const { rows } = await pool.query<{ guarded: boolean | null }>(
    'select bool_or(row_security_active(name)) as guarded from unnest($1::text[]) as name',
    [tables],
  );
  return rows[0]?.guarded === true;
};

/** @returns up to where it is to be done the other way, when something before that cannot be folded */
const foldUpTo = (
  options: FillOptions,
  folding: BulkFolding,
  from: Checkpoint,
  target: Position,
): Promise<Position | undefined> =>
  withChildSignal(options.signal, async ({ signal }) => {
    const { projection, store, onCommit, bulk: { pageEvents, bytesMax } = LIMITS } = options;
    let written = from;
    let events = 0;
    const batches = store.subscribeToAll({
      after: from.position,
      filter: { categories: projection.categories },
      batchSize: pageEvents,
      lazy: true,
      signal,
    });
    for await (const whole of takeAhead(batches, ({ caughtUp }) => !caughtUp)) {
      const batch = upTo(whole, target);
      const wanted = batch.events.filter(({ stream }) => !from.parked.has(stream));
      folding.add(wanted);
      events += wanted.length;
      const isDone = comparePositions(batch.position, target) >= 0;
      if (isDone || folding.bytes > bytesMax || events >= EVENTS_MAX) {
        if (!(await isWritten(options, folding, written, batch.position))) return batch.position;
        written = { ...written, position: batch.position };
        events = 0;
      }
      onCommit({ ...written, position: batch.position }, wanted.length);
      if (isDone) return undefined;
    }
    throw options.signal.reason;
  });

/** @returns false when an event is to blame, any of them: then nothing was */
const isWritten = async (
  { projection, pool }: FillOptions,
  folding: BulkFolding,
  from: Checkpoint,
  to: Position,
): Promise<boolean> => {
  try {
    await inTransaction(pool, async (client) => {
      await moveCheckpoint(client, projection.name, from, to);
      await folding.flush(client);
      failpoint('projection-before-commit');
    });
    return true;
  } catch (error) {
    if (isFaultOfEvent(error)) return false;
    throw error;
  }
};
