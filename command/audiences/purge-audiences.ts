import type { Pool } from 'pg';
import { SIZES_KEPT_DAYS } from '../../domain/audiences/audience-resource.ts';
import { oldRows } from '../../shared/postgres/old-rows.ts';
import type { Purgeable } from '../../shared/async/purge-regularly.ts';

export const purgeableAudiences = (pool: Pick<Pool, 'query'>): Readonly<Record<string, Purgeable>> => ({
  // Agents have received the removals by then, or their delivery restarts from the beginning.
  'removals of audiences': oldRows(pool, 'audience_removals', { column: 'removed_at', days: 7 }),
  // One day longer than past lists can be read, because server clocks differ.
  'past sizes of audiences': oldRows(pool, 'audience_sizes', {
    column: 'superseded_at',
    days: SIZES_KEPT_DAYS + 1,
  }),
});
