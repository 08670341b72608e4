import type { Pool } from 'pg';

/** What every process of the service calls one connection that it holds for as long as it runs. */
export const SERVICE_CONNECTION = 'exchange-projector';

/** Processes of the service that are connected to this database, whatever their roles. */
export const countServices = async (pool: Pick<Pool, 'query'>): Promise<number> => {
  const { rows } = await pool.query<{ services: number }>(
    `select count(*)::int as services from pg_stat_activity
     where datname = current_database() and application_name = $1`,
    [SERVICE_CONNECTION],
  );
  return rows[0]?.services ?? 0;
};
