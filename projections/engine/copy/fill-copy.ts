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
  /** Finds the copy's tables first, its checkpoint and parked streams included. */
  readonly pool: Pool;
  readonly signal: AbortSignal;
  readonly onCommit: (checkpoint: Checkpoint, applied: number) => void;
}

/** Larger than the live runner's, for fewer statements. The garbage collector would copy still larger ones. */
const BATCH_SIZE = 2_000;
/** The checkpoint moves after a commit whose answer was lost: this happens rarely. */
const TRIES = 5;

/**
 * Applies events up to the live checkpoint, so that both have the same. After a crash the next call
 * continues.
 * @param enough true ends the call early, after a commit
 * @returns the copy's checkpoint; before `target` only if it ended early
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
  const { store, pool, onCommit } = options;
  const projection = withoutWork(options.projection);
  let checkpoint = await openCheckpoint(pool, projection.name);
  if (comparePositions(checkpoint.position, target) >= 0) return checkpoint;
  return withChildSignal(options.signal, async ({ signal }) => {
    const batches = store.subscribeToAll({
      after: checkpoint.position,
      filter: { categories: projection.categories, having: projection.having, ...projection.rowEvents },
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

const withoutWork = (projection: Projection): Projection => ({
  ...projection,
  apply: (client, events) => projection.apply(client, events, 'rows'),
});

/** The log reaches `target` (`requireLog`): read to its end, it has no more events before, even if none is at it. */
const upTo = (batch: EventBatch, target: Position): EventBatch =>
  batch.caughtUp || comparePositions(batch.position, target) > 0
    ? {
        ...batch,
        events: batch.events.filter(({ position }) => comparePositions(position, target) <= 0),
        position: target,
      }
    : batch;
