import type { Pool } from 'pg';
import type { Role } from '../../domain/accounts/access.ts';

/** For the operator. A half-created account is not listed. */
export interface ListedAccount {
  readonly customerId: number;
  readonly name: string;
  readonly status: 'ENABLED' | 'DISABLED';
  readonly sellerId?: number | undefined;
  readonly users: readonly { readonly id: string; readonly name: string; readonly role: Role }[];
}

type Database = Pick<Pool, 'query'>;

const PAGE = 200;

export async function* listAccounts(pool: Database): AsyncGenerator<ListedAccount> {
  for (let after = 0; ;) {
    const rows = await accountsWhere(pool, 'a.customer_id > $1', after);
    yield* rows;
    const last = rows.at(-1);
    if (last === undefined || rows.length < PAGE) return;
    after = last.customerId;
  }
}

export const findAccount = async (pool: Database, customerId: number): Promise<ListedAccount | undefined> =>
  (await accountsWhere(pool, 'a.customer_id = $1', customerId))[0];

const accountsWhere = async (
  pool: Database,
  condition: string,
  value: number,
): Promise<readonly ListedAccount[]> => {
  const { rows } = await pool.query<ListedAccount & { readonly sellerId: number | null }>(
    `select a.customer_id::float8 as "customerId", a.name, a.seller_id as "sellerId",
       case when a.disabled_at is null then 'ENABLED' else 'DISABLED' end as status,
       (select coalesce(json_agg(json_build_object('id', u.user_id, 'name', u.name, 'role', u.role)
          order by u.user_id), '[]') from users u
          where u.customer_id = a.customer_id and u.role is not null) as users
     from accounts a where ${condition} order by a.customer_id limit ${PAGE}`,
    [value],
  );
  return rows.map(({ sellerId, ...account }) => (sellerId === null ? account : { ...account, sellerId }));
};
