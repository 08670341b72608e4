import type { ClientBase, Pool } from 'pg';

/**
 * The rows of accounts and users that credentials are checked against. They follow the accounts' streams: whoever
 * appended an event writes its row at once, and the read model of credentials does so again for whoever could not
 * (`projections/credentials.ts`). So every statement may come late, twice, and in any order.
 */

/**
 * SQL of whether these rows say what is true now. Not while their read model is made anew: on the way from the log's
 * start they say that an account is open which a later event has disabled. Nobody is let in, or turned away for
 * good, by rows of which this is false.
 */
export const isAccessKnownSql = `coalesce(
  (select position >= whole_at from projection_checkpoints where name = 'credentials'), true)`;

type Client = Pick<ClientBase, 'query'> | Pick<Pool, 'query'>;

export interface OpenedRow {
  readonly customerId: number;
  readonly name: string;
  /** Whose account it is, if a seller's. */
  readonly sellerId?: number | undefined;
}

/**
 * From then on the account is live, unless it was disabled since. Whose account it is never changes: a row that says
 * nothing of it was written by a program that did not know of sellers.
 */
export const writeOpened = async (client: Client, accounts: readonly OpenedRow[]): Promise<void> => {
  if (accounts.length === 0) return;
  await client.query({
    name: 'accounts-opened',
    text: `insert into accounts as a (customer_id, name, seller_id, access_revision)
           select customer_id, name, seller_id, 0
           from unnest($1::bigint[], $2::text[], $3::int[]) as opened(customer_id, name, seller_id)
           order by customer_id
           on conflict (customer_id) do update
             set access_revision = greatest(a.access_revision, 0), seller_id = coalesce(a.seller_id, excluded.seller_id)
             where a.access_revision < 0 or a.seller_id is null and excluded.seller_id is not null`,
    values: [
      accounts.map(({ customerId }) => customerId),
      accounts.map(({ name }) => name),
      accounts.map(({ sellerId }) => sellerId ?? null),
    ],
  });
};

export interface AccessRow {
  readonly customerId: number;
  /** Of the account's stream: what was true right after it. */
  readonly revision: number;
  /** Null: the account is open. */
  readonly disabledAt: string | null;
}

/**
 * Closes accounts to their credentials, or opens them. A row that was taken from a later revision stays: of two
 * commands at the same moment the row says what the stream says, whichever writes it last.
 */
export const writeAccess = async (client: Client, accounts: readonly AccessRow[]): Promise<void> => {
  if (accounts.length === 0) return;
  await client.query({
    name: 'accounts-access',
    text: `update accounts a set disabled_at = said.disabled_at, access_revision = said.revision
           from unnest($1::bigint[], $2::bigint[], $3::timestamptz[]) as said(customer_id, revision, disabled_at)
           where a.customer_id = said.customer_id and a.access_revision < said.revision`,
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

/** A role never changes: a row that says another was written by a program that did not know of sellers. */
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
