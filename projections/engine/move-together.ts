import type { Pool } from 'pg';
import { coalesce } from '../../shared/async/coalesce.ts';
import type { Position } from '../../shared/event-store/event-store.ts';
import { moveCheckpoint, type Checkpoint } from './checkpoint.ts';

/** Moves a checkpoint past events that are nothing to its read model. @throws CheckpointMovedError */
export type PassOver = (name: string, from: Checkpoint, to: Position) => Promise<void>;

interface Move {
  readonly name: string;
  readonly from: Checkpoint;
  readonly to: Position;
}

const MOVES_MAX = 100;
const IN_FLIGHT_MAX = 4;

/**
 * Most events are nothing to most read models, and each must pass over them before a read may believe it. All that do
 * so at the same moment go in one statement: an event costs one of them, not one for each read model. A row that
 * somebody holds is left out, and waited for alone: it must not hold up the others.
 */
export const createMoveTogether = (pool: Pool): PassOver => {
  const moved = coalesce<Move, boolean>(
    async (moves) => {
      const { rows } = await pool.query<{ name: string }>({
        name: 'move-checkpoints',
        text: `with wanted as (
                 select * from unnest($1::text[], $2::text[], $3::int[], $4::text[]) as w (name, was, epoch, next)),
               free as (
                 select c.name from projection_checkpoints c where c.name = any($1)
                 order by c.name for update skip locked)
               update projection_checkpoints c set position = w.next, updated_at = clock_timestamp()
               from wanted w join free f on f.name = w.name
               where c.name = w.name and c.position = w.was and c.epoch = w.epoch
               returning c.name`,
        values: [
          moves.map(({ name }) => name),
          moves.map(({ from }) => from.position),
          moves.map(({ from }) => from.epoch),
          moves.map(({ to }) => to),
        ],
      });
      const names = new Set(rows.map(({ name }) => name));
      return moves.map(({ name }) => names.has(name));
    },
    { batchMax: MOVES_MAX, inFlightMax: IN_FLIGHT_MAX },
  );
  return async (name, from, to) => {
    if (!(await moved({ name, from, to }))) await moveCheckpoint(pool, name, from, to);
  };
};
