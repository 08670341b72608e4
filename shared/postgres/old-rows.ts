import type { Pool } from 'pg';
import type { Purgeable } from '../async/purge-regularly.ts';

/** `column` must be indexed. */
export interface Retention {
  readonly column: string;
  readonly days: number;
}

/** The table must not be partitioned. */
export const oldRows = (
  pool: Pick<Pool, 'query'>,
  table: string,
  { column, days }: Retention,
): Purgeable => ({
  purge: async (rowsMax) => {
    const { rowCount } = await pool.query({
      name: `purge-${table}`,
      text: `delete from ${table} where ctid = any(array(
               select ctid from ${table} where ${column} < clock_timestamp() - interval '${days} days'
               order by ${column} limit $1 for update skip locked))`,
      values: [rowsMax],
    });
    return rowCount ?? 0;
  },
});
