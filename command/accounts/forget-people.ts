import type { ClientBase } from 'pg';

/** Tables with addresses, and with what belongs to them. */
export const PEOPLE_TABLES = [
  'one_time_links',
  'sessions',
  'logins',
  'invitations',
  'user_addresses',
] as const;

/** The account must be disabled. Events contain only ids of users. @returns deleted addresses */
export const forgetPeople = async (client: ClientBase, customerId: number): Promise<number> => {
  let addresses = 0;
  for (const table of PEOPLE_TABLES) {
    const { rowCount } = await client.query(`delete from ${table} where customer_id = $1`, [customerId]);
    if (table === 'user_addresses' || table === 'invitations') addresses += rowCount ?? 0;
  }
  return addresses;
};
