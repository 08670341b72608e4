import type { Pool } from 'pg';
import type { FindUser } from '../../command/accounts/oauth/authorization-server.ts';

/** @param pool not bound to an account */
export const findUser =
  (pool: Pick<Pool, 'query'>): FindUser =>
  async (userId) => {
    const { rows } = await pool.query<{ company: string; userName: string }>({
      name: 'user-of-open-account',
      text: `select a.name as company, u.name as "userName" from users u
             join accounts a on a.customer_id = u.customer_id
             where u.customer_id = $1 and u.user_id = $2 and u.role is not null and a.disabled_at is null`,
      values: [userId.split('-')[0], userId],
    });
    return rows[0];
  };
