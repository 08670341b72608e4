import type { ClientBase, Pool } from 'pg';

/**
 * For checks of credentials and origins. Each row is written twice, by the command and by
 * `projections/credentials.ts`, in case the process crashed. So each statement may run late, twice, and in any order.
 */

type Client = Pick<ClientBase, 'query'> | Pick<Pool, 'query'>;

export interface OpenedRow {
  readonly customerId: number;
  readonly name: string;
  readonly sellerId?: number | undefined;
  readonly customerDomain?: string | undefined;
}

/** The owner never changes; a null `seller_id` may come from a program version without sellers. */
export const writeOpened = async (client: Client, accounts: readonly OpenedRow[]): Promise<void> => {
  if (accounts.length === 0) return;
  await client.query({
    name: 'accounts-opened',
    text: `insert into accounts as a (customer_id, name, seller_id, domain, access_revision)
           select customer_id, name, seller_id, domain, 0
           from unnest($1::bigint[], $2::text[], $3::int[], $4::text[])
             as opened(customer_id, name, seller_id, domain)
           order by customer_id
           on conflict (customer_id) do update
             set seller_id = excluded.seller_id where a.seller_id is null and excluded.seller_id is not null`,
    values: [
      accounts.map(({ customerId }) => customerId),
      accounts.map(({ name }) => name),
      accounts.map(({ sellerId }) => sellerId ?? null),
      accounts.map(({ customerDomain }) => customerDomain ?? null),
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

export interface RoleRow {
  readonly customerId: number;
  readonly userId: string;
  /** Null: the user was removed. */
  readonly role: string | null;
  /** Revision of the account's stream that set the role. */
  readonly revision: number;
}

export interface UserRow extends RoleRow {
  readonly name: string;
  readonly addedAt: string;
}

/** A role of a later revision stays: a late write must not give a right back. */
export const writeUsers = async (client: Client, users: readonly UserRow[]): Promise<void> => {
  if (users.length === 0) return;
  await client.query({
    name: 'users-added',
    text: `insert into users as u (customer_id, user_id, name, role, revision, created_at)
           select customer_id, user_id, name, role, revision, created_at
           from unnest($1::bigint[], $2::text[], $3::text[], $4::text[], $5::bigint[], $6::timestamptz[])
             as added(customer_id, user_id, name, role, revision, created_at)
           order by customer_id, user_id
           on conflict (customer_id, user_id) do update
             set role = excluded.role, revision = excluded.revision where u.revision < excluded.revision`,
    values: [
      users.map(({ customerId }) => customerId),
      users.map(({ userId }) => userId),
      users.map(({ name }) => name),
      users.map(({ role }) => role),
      users.map(({ revision }) => revision),
      users.map(({ addedAt }) => addedAt),
    ],
  });
};

/** A role of a later revision stays. Without its row, the user has no rights yet and the read model writes both. */
export const writeRoles = async (client: Client, users: readonly RoleRow[]): Promise<void> => {
  if (users.length === 0) return;
  await client.query({
    name: 'users-roles',
    text: `update users u set role = said.role, revision = said.revision
           from (select * from unnest($1::bigint[], $2::text[], $3::text[], $4::bigint[])
               as said(customer_id, user_id, role, revision) order by 1, 2) said
           where u.customer_id = said.customer_id and u.user_id = said.user_id and u.revision < said.revision`,
    values: [
      users.map(({ customerId }) => customerId),
      users.map(({ userId }) => userId),
      users.map(({ role }) => role),
      users.map(({ revision }) => revision),
    ],
  });
};

export interface RemovedUserRow {
  readonly customerId: number;
  readonly userId: string;
  readonly revision: number;
  readonly removedAt: string;
}

/**
 * Without a role, no credential of the user is accepted. The address, login and links are deleted, and so are the
 * invitations that the user has sent. The sweep of sessions records their ends.
 */
export const removeUsers = async (client: Client, users: readonly RemovedUserRow[]): Promise<void> => {
  if (users.length === 0) return;
  await writeRoles(
    client,
    users.map((user) => ({ ...user, role: null })),
  );
  const gone = `(select * from unnest($1::bigint[], $2::text[]) as gone(customer_id, user_id) order by 1, 2) gone`;
  const ofGone = `t.customer_id = gone.customer_id and t.user_id = gone.user_id`;
  await client.query({
    name: 'users-removed',
    text: `with links as (delete from one_time_links t using ${gone} where ${ofGone}),
             addresses as (delete from user_addresses t using ${gone} where ${ofGone} returning t.email_key),
             sign_ups as (
               delete from one_time_links t using addresses a
               where t.purpose = 'sign-up' and lower(t.data ->> 'email') = a.email_key),
             logins as (delete from logins t using ${gone} where ${ofGone}),
             invited as (
               delete from invitations t using ${gone}
               where t.customer_id = gone.customer_id and t.invited_by = gone.user_id
               returning t.customer_id, t.invitation_id),
             invited_links as (
               delete from one_time_links t using invited i
               where t.customer_id = i.customer_id and t.purpose = 'invitation' and t.subject = i.invitation_id),
             sessions as (
               update sessions t set ended_at = clock_timestamp(), ends_at = clock_timestamp(), end_reason = 'removed'
               from ${gone} where ${ofGone} and t.ended_at is null and t.ends_at > clock_timestamp())
           update api_keys t set revoked_at = gone.removed_at, sealed_secret = null
           from (select * from unnest($1::bigint[], $2::text[], $3::timestamptz[])
               as gone(customer_id, user_id, removed_at) order by 1, 2) gone
           where ${ofGone} and t.revoked_at is null`,
    values: [
      users.map(({ customerId }) => customerId),
      users.map(({ userId }) => userId),
      users.map(({ removedAt }) => removedAt),
    ],
  });
};

export interface OriginRow {
  readonly customerId: number;
  readonly originId: string;
  readonly origin: string;
  readonly label?: string | undefined;
  readonly userId: string;
  readonly registeredAt: string;
}

/** A removed origin stays removed. */
export const writeOrigins = async (client: Client, origins: readonly OriginRow[]): Promise<void> => {
  if (origins.length === 0) return;
  await client.query({
    name: 'browser-origins-registered',
    text: `insert into browser_origins (customer_id, origin_id, origin, label, user_id, created_at)
           select * from unnest($1::bigint[], $2::text[], $3::text[], $4::text[], $5::text[], $6::timestamptz[])
             as registered(customer_id, origin_id, origin, label, user_id, created_at)
           order by customer_id, origin_id
           on conflict do nothing`,
    values: [
      origins.map(({ customerId }) => customerId),
      origins.map(({ originId }) => originId),
      origins.map(({ origin }) => origin),
      origins.map(({ label }) => label ?? null),
      origins.map(({ userId }) => userId),
      origins.map(({ registeredAt }) => registeredAt),
    ],
  });
};

export interface RemovedOriginRow {
  readonly customerId: number;
  readonly originId: string;
  readonly removedAt: string;
}

export const removeOrigins = async (client: Client, origins: readonly RemovedOriginRow[]): Promise<void> => {
  if (origins.length === 0) return;
  await client.query({
    name: 'browser-origins-removed',
    text: `update browser_origins o set removed_at = gone.removed_at
           from (select * from unnest($1::bigint[], $2::text[], $3::timestamptz[])
               as gone(customer_id, origin_id, removed_at) order by 1, 2) gone
           where o.customer_id = gone.customer_id and o.origin_id = gone.origin_id and o.removed_at is null`,
    values: [
      origins.map(({ customerId }) => customerId),
      origins.map(({ originId }) => originId),
      origins.map(({ removedAt }) => removedAt),
    ],
  });
};

export const accountRowsIn = (pool: Pool) => ({
  writeOpened: (accounts: readonly OpenedRow[]) => writeOpened(pool, accounts),
  writeAccess: (accounts: readonly AccessRow[]) => writeAccess(pool, accounts),
  writeUsers: (users: readonly UserRow[]) => writeUsers(pool, users),
  writeRoles: (users: readonly RoleRow[]) => writeRoles(pool, users),
  removeUsers: (users: readonly RemovedUserRow[]) => removeUsers(pool, users),
  writeOrigins: (origins: readonly OriginRow[]) => writeOrigins(pool, origins),
  removeOrigins: (origins: readonly RemovedOriginRow[]) => removeOrigins(pool, origins),
});
