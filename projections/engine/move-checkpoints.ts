import type { Pool } from 'pg';
import { coalesce } from '../../shared/async/coalesce.ts';
import type { Position } from '../../shared/event-store/event-store.ts';
import { moveCheckpoint, type Checkpoint } from './checkpoint.ts';

/** Moves a checkpoint past events that its read model ignores. @throws CheckpointMovedError */
export type PassOver = (name: string, from: Checkpoint, to: Position) => Promise<void>;

interface Move {
  readonly name: string;
  readonly from: Checkpoint;
  readonly to: Position;
}

const MOVES_MAX = 100;
const IN_FLIGHT_MAX = 4;

/**
 * Most projections ignore most events but must advance past them before reads are fresh: concurrent moves
 * share a statement. A row that another transaction has locked is moved alone, so that it delays no others.
 */
export const createCheckpointMover = (pool: Pool): PassOver => {
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
