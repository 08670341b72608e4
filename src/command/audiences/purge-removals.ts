import type { Pool } from 'pg';
import type { Purgeable } from '../../shared/purge-regularly.ts';

/** As long as the read model keeps them (`audience-members.ts`): agents have heard of them by then, or begin anew. */
const KEPT_DAYS = 7;

/** Who was removed from audiences, also of accounts that sync nothing any more. */
export const createAudienceRemovals = (pool: Pick<Pool, 'query'>): Purgeable => ({
  purge: async (rowsMax) => {
    const { rowCount } = await pool.query({
      name: 'audience-removals-old',
      text: `delete from audience_removals r using (
               select customer_id, audience_id, external_id from audience_removals
               where removed_at < now() - make_interval(days => $2)
               order by removed_at limit $1 for update skip locked
             ) old
             where r.customer_id = old.customer_id and r.audience_id = old.audience_id
               and r.external_id = old.external_id`,
      values: [rowsMax, KEPT_DAYS],
    });
    return rowCount ?? 0;
  },
});
