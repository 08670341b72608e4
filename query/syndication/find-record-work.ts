import type { Pool } from 'pg';
import { SYNDICATION_WORK } from '../../domain/syndication/work.ts';

/** Times are ISO 8601. */
export interface RecordWork {
  readonly dueAt: string;
  readonly attempts: number;
  readonly lost: number;
  /** A worker processes it until then, and longer while its job lives. */
  readonly leasedUntil: string | null;
  readonly lastError: string | null;
  readonly failedAt: string | null;
}

/** Searches all accounts, for the operator. */
export const findRecordWork = async (
  pool: Pick<Pool, 'query'>,
  recordId: string,
): Promise<{ readonly customerId: number; readonly work: RecordWork | null } | undefined> => {
  const { rows } = await pool.query<{ customerId: number; work: RecordWork | null }>(
    `select r.customer_id::float8 as "customerId", case when w.key is not null then json_build_object(
       'dueAt', w.due_at, 'attempts', w.attempts, 'lost', w.lost, 'leasedUntil', w.leased_until,
       'lastError', w.last_error, 'failedAt', w.failed_at) end as work
     from syndication_records r
     left join work_list w on w.kind = $2 and w.customer_id = r.customer_id and w.key = r.id where r.id = $1`,
    [recordId, SYNDICATION_WORK],
  );
  return rows[0];
};
