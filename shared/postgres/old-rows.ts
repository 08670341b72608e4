import type { Pool } from 'pg';
import type { Purgeable } from '../async/purge-regularly.ts';

/** How many days a table keeps a row, counted from the time in `column`, which must be indexed. */
export interface Retention {
  readonly column: string;
  readonly days: number;
}

/** Deletes rows that are older than their retention. @param table must not be partitioned */
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
