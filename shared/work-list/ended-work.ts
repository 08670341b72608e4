import type { Pool } from 'pg';
import type { Purgeable } from '../async/purge-regularly.ts';

/** Entries that will not be tried again and show why: no new revision comes for this kind. */
export const endedWork = (pool: Pick<Pool, 'query'>, kind: string, days: number): Purgeable => ({
  purge: async (rowsMax) => {
    const { rowCount } = await pool.query({
      name: 'purge-ended-work',
      text: `delete from work_list where ctid = any(array(
               select ctid from work_list
               where kind = $1 and last_error is not null and due_at = 'infinity'
                 and failed_at < clock_timestamp() - make_interval(days => $2)
               limit $3 for update skip locked))`,
      values: [kind, days, rowsMax],
    });
    return rowCount ?? 0;
  },
});
