import type { ClientBase, Pool } from 'pg';

/**
 * For credential checks. Each row is written twice, by the command and by `projections/credentials.ts`, in
 * case the process crashed. So each statement may run late, twice, and in any order.
 */

type Client = Pick<ClientBase, 'query'> | Pick<Pool, 'query'>;

export interface OpenedRow {
  readonly customerId: number;
  readonly name: string;
  readonly sellerId?: number | undefined;
}

/** The owner never changes; a null `seller_id` may come from a program version without sellers. */
export const writeOpened = async (client: Client, accounts: readonly OpenedRow[]): Promise<void> => {
  if (accounts.length === 0) return;
  await client.query({
    name: 'accounts-opened',
    text: `insert into accounts as a (customer_id, name, seller_id, access_revision)
           select customer_id, name, seller_id, 0
           from unnest($1::bigint[], $2::text[], $3::int[]) as opened(customer_id, name, seller_id)
           order by customer_id
           on conflict (customer_id) do update
             set seller_id = excluded.seller_id where a.seller_id is null and excluded.seller_id is not null`,
    values: [
      accounts.map(({ customerId }) => customerId),
      accounts.map(({ name }) => name),
      accounts.map(({ sellerId }) => sellerId ?? null),
    ],
  });
};

export interface AccessRow {
  readonly customerId: number;
  /** Revision of the account's stream that set `disabledAt`. */
  readonly revision: number;
  readonly disabledAt: string | null;
}

/**
 * A row from a later revision wins, so the order of two concurrent writes does not matter. Also ends the sessions that
 * began before the account was disabled; the sweep records their ends.
 */
export const writeAccess = async (client: Client, accounts: readonly AccessRow[]): Promise<void> => {
  if (accounts.length === 0) return;
  await client.query({
    name: 'accounts-access',
    text: `with changed as (
             update accounts a set disabled_at = said.disabled_at, access_revision = said.revision
             from unnest($1::bigint[], $2::bigint[], $3::timestamptz[]) as said(customer_id, revision, disabled_at)
             where a.customer_id = said.customer_id and a.access_revision < said.revision
             returning a.customer_id, a.disabled_at
           )
           update sessions s set ended_at = now(), ends_at = now(), end_reason = 'disabled'
           from changed where s.customer_id = changed.customer_id and s.created_at <= changed.disabled_at
             and s.ended_at is null and s.ends_at > now()`,
    values: [
      accounts.map(({ customerId }) => customerId),
      accounts.map(({ revision }) => revision),
      accounts.map(({ disabledAt }) => disabledAt),
    ],
  });
};

export interface UserRow {
  readonly customerId: number;
  readonly userId: string;
  readonly name: string;
  readonly role: string;
}

/** A role never changes; a different stored role comes from a program version that did not have sellers. */
export const writeUsers = async (client: Client, users: readonly UserRow[]): Promise<void> => {
  if (users.length === 0) return;
  await client.query({
    name: 'users-added',
    text: `insert into users as u (customer_id, user_id, name, role)
           select customer_id, user_id, name, role
           from unnest($1::bigint[], $2::text[], $3::text[], $4::text[]) as added(customer_id, user_id, name, role)
           order by customer_id, user_id
           on conflict (customer_id, user_id) do update set role = excluded.role where u.role <> excluded.role`,
    values: [
      users.map(({ customerId }) => customerId),
      users.map(({ userId }) => userId),
      users.map(({ name }) => name),
      users.map(({ role }) => role),
    ],
  });
};

export const accountRowsIn = (pool: Pool) => ({
  writeOpened: (accounts: readonly OpenedRow[]) => writeOpened(pool, accounts),
  writeAccess: (accounts: readonly AccessRow[]) => writeAccess(pool, accounts),
  writeUsers: (users: readonly UserRow[]) => writeUsers(pool, users),
});
