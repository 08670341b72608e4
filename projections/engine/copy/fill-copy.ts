import type { Pool } from 'pg';
import {
  comparePositions,
  type EventBatch,
  type EventStore,
  type Position,
} from '../../../shared/event-store/event-store.ts';
import { readAhead } from '../../../shared/async/read-ahead.ts';
import { withChildSignal } from '../child-signal.ts';
import { CheckpointMovedError, openCheckpoint, type Checkpoint } from '../checkpoint.ts';
import { commitBatch } from '../commit-batch.ts';
import type { Projection } from '../projection.ts';

export interface FillOptions {
  readonly projection: Projection;
  readonly store: Pick<EventStore, 'subscribeToAll'>;
  /** Of connections that find the copy's tables first: checkpoint and parked streams are its own, too. */
  readonly pool: Pool;
  readonly signal: AbortSignal;
  /** Called after each commit. @param applied events of it that became rows */
  readonly onCommit: (checkpoint: Checkpoint, applied: number) => void;
}

/** Larger than the live runner's: fewer statements. Still larger ones live longer, and the garbage collector copies them. */
const BATCH_SIZE = 2_000;
/** A checkpoint is found moved after a commit whose answer was lost: once or twice, not all the time. */
const TRIES = 5;

/**
 * Applies to the copy what it lacks up to `target`, and nothing behind it: the live read model's checkpoint, so that both
 * are made of the same events. Each batch is committed as the live runner commits its own: killed anywhere, the next call
 * goes on from the copy's checkpoint.
 * @param enough ends early when it says so, after a commit
 * @returns the copy's checkpoint, at `target` unless it ended early
 */
export const fillCopy = async (
  options: FillOptions,
  target: Position,
  enough: () => boolean = () => false,
): Promise<Checkpoint> => {
  for (let tries = 1; ; tries += 1) {
    try {
      return await fillOnce(options, target, enough);
    } catch (error) {
      if (!(error instanceof CheckpointMovedError) || tries >= TRIES) throw error;
    }
  }
};

const fillOnce = async (
  options: FillOptions,
  target: Position,
  enough: () => boolean,
): Promise<Checkpoint> => {
  const { projection, store, pool, onCommit } = options;
  let checkpoint = await openCheckpoint(pool, projection.name);
  if (comparePositions(checkpoint.position, target) >= 0) return checkpoint;
  return withChildSignal(options.signal, async ({ signal }) => {
    const batches = store.subscribeToAll({
      after: checkpoint.position,
      filter: { categories: projection.categories },
      batchSize: BATCH_SIZE,
      signal,
    });
    for await (const batch of readAhead(batches, ({ caughtUp }) => !caughtUp)) {
      const committed = await commitBatch(pool, projection, checkpoint, upTo(batch, target));
      checkpoint = committed.checkpoint;
      onCommit(checkpoint, committed.applied);
      if (comparePositions(checkpoint.position, target) >= 0 || enough()) return checkpoint;
    }
    throw options.signal.reason;
  });
};

/**
 * A log that reaches `target` (`requireLog`) and was read to its end after that has nothing more before it, also where positions say how far a
 * filter has looked, and not where an event is.
 */
const upTo = (batch: EventBatch, target: Position): EventBatch =>
  batch.caughtUp || comparePositions(batch.position, target) > 0
    ? {
        ...batch,
        events: batch.events.filter(({ position }) => comparePositions(position, target) <= 0),
        position: target,
      }
    : batch;
