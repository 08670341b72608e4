import type { Pool } from 'pg';
import type { Purgeable } from '../async/purge-regularly.ts';

/** How long a table's rows are kept: since the time in a column that has an index. */
export interface Retention {
  readonly column: string;
  readonly days: number;
}

/** The rows of a table that are older than they are kept. @param table is not partitioned */
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
