import type { Pool } from 'pg';
import { SIZES_KEPT_DAYS } from '../../domain/audiences/audience-resource.ts';
import { oldRows } from '../../shared/postgres/old-rows.ts';
import type { Purgeable } from '../../shared/async/purge-regularly.ts';

/** The tables of audiences that shrink, by what they hold; also of accounts that sync nothing any more. */
export const purgeableAudiences = (pool: Pick<Pool, 'query'>): Readonly<Record<string, Purgeable>> => ({
  // As long as the read model keeps them (`audience-members.ts`): agents have heard of them by then, or begin anew.
  'removals of audiences': oldRows(pool, 'audience_removals', { column: 'removed_at', days: 7 }),
  // A day longer than lists of the past are answered: clocks of servers differ.
  'past sizes of audiences': oldRows(pool, 'audience_sizes', {
    column: 'superseded_at',
    days: SIZES_KEPT_DAYS + 1,
  }),
});
