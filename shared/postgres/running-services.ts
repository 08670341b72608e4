import type { Pool } from 'pg';

/** `application_name` of a connection that each process of the service holds while it runs. */
export const SERVICE_CONNECTION = 'exchange-projector';

/** Counts the service's processes that are connected to this database, in all roles. */
export const countServices = async (pool: Pick<Pool, 'query'>): Promise<number> => {
  const { rows } = await pool.query<{ services: number }>(
    `select count(*)::int as services from pg_stat_activity
     where datname = current_database() and application_name = $1`,
    [SERVICE_CONNECTION],
  );
  return rows[0]?.services ?? 0;
};
