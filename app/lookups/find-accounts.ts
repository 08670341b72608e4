import type { ClientBase } from 'pg';
import type { AccountNow, AskDatabase } from '../../command/assets/handler.ts';
import { isWholeSql } from '../../shared/follow-log/written-position.ts';

/** @param pool not bound to an account */
export const findAccountNow =
  (pool: AskDatabase) =>
  async (customerId: number): Promise<AccountNow> => {
    const { rows } = await pool.query<{ now: Date; isOpen: boolean; isKnown: boolean }>({
      name: 'upload-admission',
      text: `select clock_timestamp() as now,
               exists (select from accounts where customer_id = $1 and disabled_at is null) as "isOpen",
               ${isWholeSql('credentials')} as "isKnown"`,
      values: [customerId],
    });
    const [row] = rows;
    return {
      nowMs: row?.now.getTime() ?? Infinity,
      isOpen: row?.isOpen === true,
      isKnown: row?.isKnown === true,
    };
  };

export const hasAccounts = async (client: Pick<ClientBase, 'query'>): Promise<boolean> => {
  const { rows } = await client.query<{ any: boolean }>('select exists (select from accounts) as any');
  return rows[0]?.any === true;
};
