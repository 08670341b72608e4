import type { Pool } from 'pg';
import { isWholeSql } from '../../shared/follow-log/written-position.ts';

/** False while endpoints are read from the log again: an older URL or secret must not be used. */
export const isFanOutWhole = async (pool: Pick<Pool, 'query'>): Promise<boolean> => {
  const { rows } = await pool.query<{ isWhole: boolean }>({
    name: 'webhook-fan-out-whole',
    text: `select ${isWholeSql('webhook-fan-out')} as "isWhole"`,
  });
  return rows[0]?.isWhole === true;
};
