import type { Pool } from 'pg';
import { oldRows } from '../../shared/postgres/old-rows.ts';
import type { Purgeable } from '../../shared/async/purge-regularly.ts';
import { DAYS_KNOWN } from './fingerprint-table.ts';

/** What every day costs, and what nobody asks for any more (docs/conversions.md, Retention). */
const retention = {
  /** Nothing in them is known any more; a few days for clocks that differ. */
  conversion_segments: { column: 'recorded_at', days: DAYS_KNOWN + 5 },
  /** Longer than a command may be repeated. */
  conversion_commands: { column: 'recorded_at', days: 4 },
  /** Thirteen months, so that a month can be compared with the same one a year ago. */
  conversion_hours: { column: 'hour', days: 400 },
} as const;

type Table = keyof typeof retention;

/** The tables of conversion events that shrink, by name. */
export const purgeableConversions = (pool: Pick<Pool, 'query'>): Readonly<Record<string, Purgeable>> =>
  Object.fromEntries(
    (Object.keys(retention) as Table[]).map((table) => [
      table.replaceAll('_', ' '),
      oldRows(pool, table, retention[table]),
    ]),
  );
