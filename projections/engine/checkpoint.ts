import type { ClientBase, Pool } from 'pg';
import { START, type Position } from '../../shared/event-store/event-store.ts';

/** The state that a runner relies on: read in one snapshot, and valid as long as `moveCheckpoint` succeeds. */
export interface Checkpoint {
  readonly position: Position;
  /** Raised when rows change without new events: a retry of a parked stream, or a rebuild. */
  readonly epoch: number;
  /** Parked streams: the read model ignores their events. About 100 bytes for each. */
  readonly parked: ReadonlySet<string>;
}

/**
 * Another process moved the checkpoint or changed the rows. Nothing was written: restart from the stored checkpoint.
 */
export class CheckpointMovedError extends Error {
  override readonly name = 'CheckpointMovedError';
}

/** Reads the checkpoint of a read model, or creates one at the start of the log. */
export const openCheckpoint = async (
  pool: Pick<ClientBase, 'query'> | Pick<Pool, 'query'>,
  name: string,
): Promise<Checkpoint> => {
  await pool.query(
    'insert into projection_checkpoints (name, position) values ($1, $2) on conflict do nothing',
    [name, START],
  );
  const { rows } = await pool.query<{ position: Position; epoch: number; parked: string[] }>(
    `select position, epoch, array(select stream from parked_streams where projection = $1) as parked
     from projection_checkpoints where name = $1`,
    [name],
  );
  const row = rows[0];
  if (row === undefined) throw new CheckpointMovedError(`the checkpoint of ${name} was removed`);
  return { ...row, parked: new Set(row.parked) };
};

/**
 * Blocks the read model until the end of the transaction, which may change rows without an event: the active runner
 * then restarts from the stored checkpoint.
 */
export const raiseEpoch = async (client: Pick<ClientBase, 'query'>, name: string): Promise<Position> => {
  const { rows } = await client.query<{ position: Position }>(
    'update projection_checkpoints set epoch = epoch + 1 where name = $1 returning position',
    [name],
  );
  return rows[0]?.position ?? START;
};

/**
 * Moves the checkpoint only if it is where this runner left it. This conditional update is the first statement of
 * every batch's transaction, so its row lock keeps other writers out until the rows are committed, too. A writer that
 * waited for the lock finds the checkpoint moved and does nothing. This alone guarantees that events are applied
 * once: redelivery, two leaders and a commit without an answer all end here.
 *
 * The update compares the epoch, too, so `Checkpoint.parked` can stay in memory. Reading the parked streams in this
 * statement would lose events: the runner waits here for a retry that holds the row. The retry applies the stream up
 * to the checkpoint, un-parks it and commits. The update then sees the new row, but the rest of the statement still
 * sees its old snapshot, in which the stream is parked. So the runner would skip the stream's events in this batch.
 * @throws CheckpointMovedError
 */
export const moveCheckpoint = async (
  client: Pick<ClientBase, 'query'> | Pick<Pool, 'query'>,
  name: string,
  from: Checkpoint,
  to: Position,
): Promise<void> => {
  const { rowCount } = await client.query({
    name: 'move-checkpoint',
    text: `update projection_checkpoints set position = $4, updated_at = clock_timestamp()
           where name = $1 and position = $2 and epoch = $3`,
    values: [name, from.position, from.epoch, to],
  });
  if (rowCount !== 1) {
    throw new CheckpointMovedError(`the checkpoint of ${name} is no longer at ${from.position}`);
  }
};
