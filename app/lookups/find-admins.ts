import type { Pool } from 'pg';

/** More get no mail. */
const ADMINS_MAX = 50;

/** User ids. @param pool not bound to an account */
export const findAdmins =
  (pool: Pool) =>
  async (customerId: number): Promise<readonly string[]> => {
    const { rows } = await pool.query<{ id: string }>({
      name: 'admins-of-account',
      text: `select user_id as id from users where customer_id = $1 and role = 'admin'
             order by created_at, user_id limit ${ADMINS_MAX}`,
      values: [customerId],
    });
    return rows.map(({ id }) => id);
  };
