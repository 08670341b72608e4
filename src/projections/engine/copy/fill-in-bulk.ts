import {
  comparePositions,
  type Position,
  type RecordedEvent,
} from '../../../shared/event-store/event-store.ts';
import { failpoint } from '../../../shared/failpoints.ts';
import { inTransaction } from '../../../shared/postgres/pool.ts';
import { withChildSignal } from '../child-signal.ts';
import { moveCheckpoint, openCheckpoint, type Checkpoint } from '../checkpoint.ts';
import { isFaultOfEvent } from '../failure.ts';
import type { BulkFolding } from '../projection.ts';
import { takeAhead } from '../take-ahead.ts';
import { fillCopy, upTo, type BulkLimits, type FillOptions } from './fill-copy.ts';

const LIMITS: BulkLimits = { pageEvents: 2_000, bytesMax: 512 * 1024 * 1024 };
/** It is also written after so many events: what a kill costs is no more than folding them again. */
const EVENTS_MAX = 1_000_000;

/**
 * As `fillCopy`, for read models that can fold in memory: rows and checkpoint are written together and seldom. An event
 * that cannot be folded is left to `fillCopy`, which parks its stream.
 */
export const fillInBulk = async (options: FillOptions, target: Position): Promise<Checkpoint> => {
  const { projection, pool } = options;
  if (projection.bulk === undefined) return fillCopy(options, target);
  for (;;) {
    const checkpoint = await openCheckpoint(pool, projection.name);
    if (comparePositions(checkpoint.position, target) >= 0) return checkpoint;
    const bad = await foldUpTo(options, projection.bulk(), checkpoint, target);
    if (bad !== undefined) await fillCopy(options, bad.position);
  }
};

/** @returns the event that ended it before `target`: what was folded since the last write is lost */
const foldUpTo = (
  options: FillOptions,
  folding: BulkFolding,
  from: Checkpoint,
  target: Position,
): Promise<RecordedEvent | undefined> =>
  withChildSignal(options.signal, async ({ signal }) => {
    const { projection, store, pool, onCommit, bulk: { pageEvents, bytesMax } = LIMITS } = options;
    let written = from;
    let events = 0;
    const write = async (position: Position): Promise<void> => {
      await inTransaction(pool, async (client) => {
        await moveCheckpoint(client, projection.name, written, position);
        await folding.flush(client);
        failpoint('projection-before-commit');
      });
      written = { ...written, position };
      events = 0;
    };
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
      const bad = await fold(options, folding, wanted);
      if (bad !== undefined) return bad;
      events += wanted.length;
      onCommit({ ...written, position: batch.position }, wanted.length);
      const isDone = comparePositions(batch.position, target) >= 0;
      if (isDone || folding.bytes > bytesMax || events >= EVENTS_MAX) await write(batch.position);
      if (isDone) return undefined;
    }
    throw options.signal.reason;
  });

const fold = async (
  { pool }: FillOptions,
  folding: BulkFolding,
  events: readonly RecordedEvent[],
): Promise<RecordedEvent | undefined> => {
  const client = await pool.connect();
  try {
    await folding.add(client, events);
    return undefined;
  } catch (error) {
    if (!isFaultOfEvent(error)) throw error;
    // Of those, any may be the one: they are applied the other way, which finds it.
    return events.at(-1);
  } finally {
    client.release();
  }
};
