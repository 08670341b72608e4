import type { Pool } from 'pg';
import { coalesce } from '../async/coalesce.ts';

/** Values that are fetched for each of several askers at once, so that most of the next ones need not wait. */
const AHEAD = 8;

/** Where new integer ids come from. */
export interface IdSequence {
  /** An id that was never handed out, by this process or another. */
  readonly next: () => Promise<number>;
  /**
   * Skips this id, and every id that the table has: the database was restored to an earlier time, when they had not been
   * handed out yet.
   */
  readonly skipBeyond: (id: number) => Promise<void>;
}

/**
 * The values of a Postgres sequence, many in one round trip when many ask at once; then some more are kept for
 * those who come next. Who asks alone takes one and leaves no gap.
 *
 * Values may be lost (a crash, a refused command): gaps mean nothing, repeats never happen. Two processes hand
 * out values of different age: a larger one is not always the newer.
 * @param table whose column `id` has these ids
 */
export const idSequence = (pool: Pool, sequence: string, table?: string): IdSequence => {
  /** Descending, at most `AHEAD - 1` times the largest batch. */
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
      // Two at once may leave the lower value: the next collision mends that.
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
