import type { Pool } from 'pg';
import { coalesce } from '../coalesce.ts';

/** Values that are fetched for each of several askers at once, so that most of the next ones need not wait. */
const AHEAD = 8;

/**
 * Hands out the next values of a Postgres sequence, many in one round trip when many ask at once; then some more
 * are kept for those who come next. Who asks alone takes one and leaves no gap.
 *
 * Values may be lost (a crash, a refused command): gaps mean nothing, repeats never happen. Two processes hand
 * out values of different age: a larger one is not always the newer.
 */
export const sequenceAllocator = (pool: Pool, sequence: string): (() => Promise<number>) => {
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
  return async () => spare.pop() ?? next(undefined);
};
