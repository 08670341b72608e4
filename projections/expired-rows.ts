import type { Pool } from 'pg';
import { SIZES_KEPT_DAYS } from '../domain/audiences/resource.ts';
import { DAYS_KNOWN } from '../domain/conversions/fingerprint.ts';
import type { Purgeable } from '../shared/async/purge-regularly.ts';
import { oldRows } from '../shared/postgres/old-rows.ts';

type Database = Pick<Pool, 'query'>;

export const expiredRows = (pool: Database) =>
  ({
    // Agents have received the removals by then, or their delivery restarts from the beginning.
    'removals of audiences': oldRows(pool, 'audience_removals', { column: 'removed_at', days: 7 }),
    // One day longer than past lists can be read, because server clocks differ.
    'past sizes of audiences': oldRows(pool, 'audience_sizes', {
      column: 'superseded_at',
      days: SIZES_KEPT_DAYS + 1,
    }),
    // Fingerprints have expired; some days more, because clocks differ (docs/design/conversions.md).
    'conversion segments': oldRows(pool, 'conversion_segments', {
      column: 'recorded_at',
      days: DAYS_KNOWN + 5,
    }),
    // Longer than a client may repeat a command.
    'conversion commands': oldRows(pool, 'conversion_commands', { column: 'recorded_at', days: 4 }),
    // Thirteen months, to compare a month with the same month of the previous year.
    'conversion hours': oldRows(pool, 'conversion_hours', { column: 'hour', days: 400 }),
    // Longer than a command that registered the origin can still write its row.
    'removed browser origins': oldRows(pool, 'browser_origins', { column: 'removed_at', days: 7 }),
    'assets that are gone': goneAssets(pool),
  }) satisfies Record<string, Purgeable>;

const GONE_DAYS = 7;

/** Reads do not show these rows, and their streams have ended, so no event needs them. */
const goneAssets = (pool: Database): Purgeable => ({
  purge: async (rowsMax) => {
    const { rowCount } = await pool.query({
      name: 'purge-gone-assets',
      text: `delete from assets where ctid = any(array(
               select ctid from assets
               where status in ('EXPIRED', 'REMOVED')
                 and expires_at < clock_timestamp() - interval '${GONE_DAYS} days'
               order by expires_at limit $1 for update skip locked))`,
      values: [rowsMax],
    });
    return rowCount ?? 0;
  },
});
