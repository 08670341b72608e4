import type { ClientBase, Pool } from 'pg';
import { START, type Position } from '../../shared/event-store/event-store.ts';

/** Read in one snapshot, and valid as long as `moveCheckpoint` succeeds. */
export interface Checkpoint {
  readonly position: Position;
  /** Raised when rows change without new events: a retry of a parked stream, or a rebuild. */
  readonly epoch: number;
  /** The read model ignores their events. About 100 bytes each. */
  readonly parked: ReadonlySet<string>;
}

/** Another process moved the checkpoint or changed rows. Nothing was written: restart from the stored one. */
export class CheckpointMovedError extends Error {
  override readonly name = 'CheckpointMovedError';
}

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

/** As the transaction sees it: `apply` is called while the row is held. */
export const positionOf = async (client: Pick<ClientBase, 'query'>, name: string): Promise<Position> => {
  const { rows } = await client.query<{ position: Position }>(
    'select position from projection_checkpoints where name = $1',
    [name],
  );
  return rows[0]?.position ?? START;
};

/** Blocks the read model until the transaction ends: it may change rows; the runner then restarts. */
export const raiseEpoch = async (client: Pick<ClientBase, 'query'>, name: string): Promise<Position> => {
  const { rows } = await client.query<{ position: Position }>(
    'update projection_checkpoints set epoch = epoch + 1 where name = $1 returning position',
    [name],
  );
  return rows[0]?.position ?? START;
};

/**
 * Moves the checkpoint only if it is where this runner left it, as the first statement of every batch: its
 * row lock excludes other writers until the commit, and a writer that waited finds it moved. So redelivery,
 * two leaders and a commit without an answer all apply events once. Compares the epoch, too, so
 * `Checkpoint.parked` can stay in memory. Reading the parked streams here would lose events: the runner waits
 * for a retry, which applies the stream, un-parks it and commits; this statement sees the new row, but in its
 * old snapshot the stream is still parked, so the runner would skip its events.
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

/** Until it reaches the end of the log again, as far as the other checkpoints show it (`isWholeSql`). */
export const markIncomplete = async (client: Pick<ClientBase, 'query'>, name: string): Promise<void> => {
  await client.query(
    `update projection_checkpoints
     set whole_at = greatest(whole_at, (select max(position) from projection_checkpoints))
     where name = $1`,
    [name],
  );
};
