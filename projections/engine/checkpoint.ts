import type { ClientBase, Pool } from 'pg';
import { START, type Position } from '../../shared/event-store/event-store.ts';

/** What a runner stands on: read in one snapshot, and valid for as long as the fence lets it pass. */
export interface Checkpoint {
  readonly position: Position;
  /** Raised whenever rows change other than by new events: a parked stream was retried, a rebuild. */
  readonly epoch: number;
  /** Streams that this read model leaves out. As large as the table: about 100 bytes for each of them. */
  readonly parked: ReadonlySet<string>;
}

/** Somebody else moved the checkpoint or changed the rows: nothing was done, start again from what is there. */
export class CheckpointMovedError extends Error {
  override readonly name = 'CheckpointMovedError';
}

/** The checkpoint of a read model; one at the start of the log when it has none yet. */
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
 * The fence: moves the checkpoint only if it is where this runner left it. It is the first statement of every
 * batch's transaction, so that its row lock keeps others out until the rows are committed too; whoever waited
 * for it finds it moved and does nothing. That is the whole of "applied once": twice delivered, two leaders, a
 * commit without an answer all end here.
 *
 * The epoch is compared too, and that makes `Checkpoint.parked` safe to keep in memory. Reading the parked
 * streams in this statement would not be: the runner waits here for a retry that holds the row; the retry
 * applies the stream up to the checkpoint, un-parks it and commits; the update goes on with the new row, but
 * the rest of the statement still sees its old snapshot, in which the stream is parked, and the runner passes
 * over the stream's events in this batch: lost for good.
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
