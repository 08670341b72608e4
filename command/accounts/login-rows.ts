import type { ClientBase, Pool } from 'pg';
import type { Role } from '../../domain/accounts/access.ts';

/** Addresses and passwords of users. No event contains them: they can be deleted. */

export type Database = Pick<Pool, 'query'> | Pick<ClientBase, 'query'>;

export interface UserKey {
  readonly customerId: number;
  readonly userId: string;
}

export interface Login extends UserKey {
  readonly email: string;
  readonly isVerified: boolean;
  readonly company: string;
  readonly role: Role;
  /** The account is not disabled. */
  readonly isOpen: boolean;
  readonly passwordHash: string;
  /** Text keeps the microseconds. */
  readonly passwordChangedAt: string;
  readonly totpSecretId: string | null;
  readonly totpPendingId: string | null;
  readonly totpLastStep: number | null;
}

/** Both only find users whose address is announced. @throws ApiError SERVICE_UNAVAILABLE during a rebuild */
export interface FindLogin {
  ofAddress(emailKey: string): Promise<Login | undefined>;
  ofUser(user: UserKey): Promise<Login | undefined>;
}

export interface NewLogin extends UserKey {
  readonly email: string;
  readonly emailKey: string;
  readonly passwordHash: string;
  readonly isVerified: boolean;
}

/**
 * Both rows or none, before the event of the password. They have no effect until they are announced. If two users
 * claim the same address at once, one gets it.
 * @returns false if another user has the address; true for a repeat
 */
export const claimAddress = async (database: Database, login: NewLogin): Promise<boolean> => {
  const { customerId, userId, email, emailKey, passwordHash, isVerified } = login;
  const { rows } = await database.query<{ isOurs: boolean }>({
    name: 'address-claim',
    text: `with claimed as (
             insert into user_addresses (customer_id, user_id, email, email_key, verified_at)
             values ($1, $2, $3, $4, case when $6 then clock_timestamp() end)
             on conflict do nothing returning customer_id, user_id
           ), login as (
             insert into logins (customer_id, user_id, password_hash)
             select customer_id, user_id, $5 from claimed
           )
           select true as "isOurs" from claimed
           union all
           select true from user_addresses where customer_id = $1 and user_id = $2 and email_key = $4`,
    values: [customerId, userId, email, emailKey, passwordHash, isVerified],
  });
  return rows.length > 0;
};

/** After the event of the password. After a crash in between, the sweep does it. */
export const announceAddress = async (database: Database, { customerId, userId }: UserKey): Promise<void> => {
  await database.query({
    name: 'address-announce',
    text: `update user_addresses set announced = true where customer_id = $1 and user_id = $2`,
    values: [customerId, userId],
  });
};

export interface UnannouncedAddress extends UserKey {
  readonly createdAt: string;
  /** No command can announce it any more. */
  readonly isOld: boolean;
}

export const unannouncedAddresses = async (
  database: Database,
  after: UnannouncedAddress | undefined,
  rowsMax: number,
): Promise<readonly UnannouncedAddress[]> => {
  const { rows } = await database.query<UnannouncedAddress>({
    name: 'addresses-unannounced',
    text: `select customer_id::float8 as "customerId", user_id as "userId", created_at::text as "createdAt",
             created_at < clock_timestamp() - interval '10 minutes' as "isOld"
           from user_addresses
           where not announced and created_at < clock_timestamp() - interval '1 minute'
             and created_at >= $1::timestamptz and (created_at, customer_id, user_id) > ($1::timestamptz, $2, $3)
           order by created_at, customer_id, user_id limit $4`,
    values: [after?.createdAt ?? '-infinity', after?.customerId ?? 0, after?.userId ?? '', rowsMax],
  });
  return rows;
};

/** With the login, and the second factor. The sweep of secrets deletes the seed. */
export const deleteAddress = async (database: Database, { customerId, userId }: UserKey): Promise<void> => {
  await database.query({
    name: 'address-delete',
    text: `with address as (delete from user_addresses where customer_id = $1 and user_id = $2),
             links as (delete from one_time_links where customer_id = $1 and user_id = $2)
           delete from logins where customer_id = $1 and user_id = $2`,
    values: [customerId, userId],
  });
};

/** @param before the hash that was checked @returns false if the password has changed since */
export const replaceHash = async (
  database: Database,
  { customerId, userId }: UserKey,
  before: string,
  next: string,
): Promise<boolean> => {
  const { rowCount } = await database.query({
    name: 'login-rehash',
    text: `update logins set password_hash = $4
           where customer_id = $1 and user_id = $2 and password_hash = $3`,
    values: [customerId, userId, before, next],
  });
  return rowCount === 1;
};

/** Links that would set the password once more end, too. @param before as for `replaceHash`; undefined: any */
export const setPasswordRow = async (
  database: Database,
  { customerId, userId }: UserKey,
  passwordHash: string,
  before?: string,
): Promise<boolean> => {
  const { rowCount } = await database.query({
    name: 'login-set-password',
    text: `with links as (
             delete from one_time_links where customer_id = $1 and user_id = $2 and used_at is null
           )
           update logins set password_hash = $3, password_changed_at = clock_timestamp()
           where customer_id = $1 and user_id = $2 and ($4::text is null or password_hash = $4)`,
    values: [customerId, userId, passwordHash, before ?? null],
  });
  return rowCount === 1;
};

/** @returns false if it was verified before */
export const verifyAddress = async (
  database: Database,
  { customerId, userId }: UserKey,
): Promise<boolean> => {
  const { rowCount } = await database.query({
    name: 'address-verify',
    text: `update user_addresses set verified_at = clock_timestamp()
           where customer_id = $1 and user_id = $2 and verified_at is null`,
    values: [customerId, userId],
  });
  return rowCount === 1;
};

/**
 * From then on, all that the user has given access with is refused: API keys, invitations, OAuth grants.
 * @returns the grants that ended
 */
export const endAccessRows = async (
  database: Database,
  { customerId, userId }: UserKey,
): Promise<readonly string[]> => {
  const { rows } = await database.query<{ grantId: string }>({
    name: 'access-end-of-user',
    text: `with keys as (
             update api_keys set revoked_at = clock_timestamp(), sealed_secret = null
             where customer_id = $1 and user_id = $2 and revoked_at is null
           ), ended as (
             delete from invitations where customer_id = $1 and invited_by = $2 returning invitation_id
           ), links as (
             delete from one_time_links l using ended
             where l.customer_id = $1 and l.purpose = 'invitation' and l.subject = ended.invitation_id
               and l.used_at is null
           )
           update oauth_grants set revoked_at = clock_timestamp()
           where customer_id = $1 and user_id = $2 and revoked_at is null and expires_at > clock_timestamp()
           returning grant_id as "grantId"`,
    values: [customerId, userId],
  });
  return rows.map(({ grantId }) => grantId);
};
