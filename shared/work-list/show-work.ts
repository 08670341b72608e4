import type { Pool } from 'pg';

export interface ShownWork {
  readonly kind: string;
  readonly customerId: number;
  readonly key: string;
  /** Null: on the next request. */
  readonly dueAt: Date | null;
  /** Longer while its job lives. */
  readonly leasedUntil: Date | null;
  readonly attempts: number;
  readonly lost: number;
  readonly lastError: string | null;
  readonly failedAt: Date | null;
}

type Database = Pick<Pool, 'query'>;

export const showWork = async (
  pool: Database,
  kind: string | undefined,
  limit: number,
): Promise<readonly ShownWork[]> => {
  const { rows } = await pool.query<ShownWork>(
    `select kind, customer_id::float8 as "customerId", key, case when isfinite(due_at) then due_at end as "dueAt",
       leased_until as "leasedUntil", attempts, lost, last_error as "lastError", failed_at as "failedAt"
     from work_list where $1::text is null or kind = $1 order by work_list.due_at, kind, key limit $2`,
    [kind, limit],
  );
  return rows;
};

export interface WorkBacklog {
  /** Does not count entries that a worker processes. */
  readonly due: number;
  readonly oldestSeconds: number;
  readonly failing: number;
}

export const workBacklog = async (pool: Database): Promise<WorkBacklog> => {
  const { rows } = await pool.query<WorkBacklog>(
    `select count(*) filter (where waits)::float8 as due, count(*) filter (where attempts > 0)::float8 as failing,
       coalesce(max(extract(epoch from now() - due_at)) filter (where waits), 0)::float8 as "oldestSeconds"
     from (select attempts, due_at,
             due_at <= now() and (leased_until is null or leased_until <= now()) as waits from work_list) w`,
  );
  return rows[0] ?? { due: 0, oldestSeconds: 0, failing: 0 };
};
