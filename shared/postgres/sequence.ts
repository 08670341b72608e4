import type { Pool } from 'pg';
import { coalesce } from '../async/coalesce.ts';

const AHEAD = 8;

export interface IdSequence {
  readonly next: () => Promise<number>;
  /** Also skips all ids in the table: after a restore to an earlier time, the sequence would repeat them. */
  readonly skipBeyond: (id: number) => Promise<void>;
}

/** Ids can be lost but never repeat. Processes prefetch: a larger id is not always newer. */
export const idSequence = (pool: Pool, sequence: string, table?: string): IdSequence => {
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
