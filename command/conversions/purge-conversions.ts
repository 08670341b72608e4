import type { Pool } from 'pg';
import { oldRows } from '../../shared/postgres/old-rows.ts';
import type { Purgeable } from '../../shared/async/purge-regularly.ts';
import { DAYS_KNOWN } from './fingerprint-table.ts';

/** Retention of derived rows (docs/conversions.md, Retention). */
const retention = {
  /** Their fingerprints have expired; a few more days allow for clock differences. */
  conversion_segments: { column: 'recorded_at', days: DAYS_KNOWN + 5 },
  /** Longer than a command may be repeated. */
  conversion_commands: { column: 'recorded_at', days: 4 },
  /** Thirteen months, to compare a month with the same month of the previous year. */
  conversion_hours: { column: 'hour', days: 400 },
} as const;

type Table = keyof typeof retention;

export const purgeableConversions = (pool: Pick<Pool, 'query'>): Readonly<Record<string, Purgeable>> =>
  Object.fromEntries(
    (Object.keys(retention) as Table[]).map((table) => [
      table.replaceAll('_', ' '),
      oldRows(pool, table, retention[table]),
    ]),
  );
