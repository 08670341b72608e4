import type { Pool } from 'pg';
import { coalesce } from '../async/coalesce.ts';

/** Ids fetched for each waiting caller of a batch, so that most later calls need no query. */
const AHEAD = 8;

export interface IdSequence {
  /** Returns an id that no process has returned before. */
  readonly next: () => Promise<number>;
  /**
   * Skips this id and all ids in the table. Needed after the database was restored to an earlier time, when these ids
   * had not been issued yet.
   */
  readonly skipBeyond: (id: number) => Promise<void>;
}

/**
 * Returns ids from a Postgres sequence. Concurrent calls share one query, which also prefetches ids. A single call
 * takes one id and leaves no gap. Ids can be lost (crash, rejected command) but never repeat. Several processes
 * prefetch, so a larger id is not always newer.
 * @param table the table whose column `id` contains the ids
 */
export const idSequence = (pool: Pool, sequence: string, table?: string): IdSequence => {
  /** Descending. At most `AHEAD - 1` times the largest batch. */
  let spare: number[] = [];
  const ask = async (keys: readonly undefined[]): Promise<readonly number[]> => {
    const count = keys.length > 1 ? AHEAD * keys.length : 1;
    const { rows } = await pool.query<{ id: number }>({
      name: `next-${sequence}`,
      text: `select nextval($1::regclass)::int as id from generate_series(1, $2::int)`,
      values: [sequence, count],
    });
    const values = rows.map(({ id }) => id);
    spare = [...values.slice(keys.length).toReversed(), ...spare];
    return values.slice(0, keys.length);
  };
  const next = coalesce<undefined, number>(ask, { batchMax: 64, inFlightMax: 1 });
  return {
    next: async () => spare.pop() ?? next(undefined),
    skipBeyond: async (id) => {
      // Two concurrent calls may leave the lower value. The next collision repairs that.
      const { rows } = await pool.query<{ used: number }>(
        `select greatest($1::int, ${table === undefined ? 'null' : `(select max(id) from ${table})`}) as used`,
        [id],
      );
      const used = rows[0]?.used ?? id;
      await pool.query(
        `select setval($1::regclass, $2) where $2 > coalesce(pg_sequence_last_value($1::regclass), 0)`,
        [sequence, used],
      );
      spare = spare.filter((value) => value > used);
    },
  };
};
