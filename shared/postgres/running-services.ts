import type { Pool } from 'pg';

/** Each process of the service holds a connection with this `application_name`. */
export const SERVICE_CONNECTION = 'exchange-projector';

export const countServices = async (pool: Pick<Pool, 'query'>): Promise<number> => {
  const { rows } = await pool.query<{ services: number }>(
    `select count(*)::int as services from pg_stat_activity
     where datname = current_database() and application_name = $1`,
    [SERVICE_CONNECTION],
  );
  return rows[0]?.services ?? 0;
};
