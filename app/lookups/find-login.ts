import type { Pool } from 'pg';
import type { FindLogin, Login } from '../../command/accounts/login-rows.ts';
import { isWholeSql } from '../../shared/follow-log/written-position.ts';
import { NotDoneError } from '../../shared/http/errors.ts';

/** @param pool not bound to an account */
export const findLogin = (pool: Pick<Pool, 'query'>): FindLogin => ({
  ofAddress: async (emailKey) => {
    const { rows } = await pool.query<FoundLogin>({
      name: 'login-of-address',
      text: loginSql('a.email_key = $1'),
      values: [emailKey],
    });
    return loginOf(rows);
  },
  ofUser: async ({ customerId, userId }) => {
    const { rows } = await pool.query<FoundLogin>({
      name: 'login-of-user',
      text: loginSql('a.customer_id = $1 and a.user_id = $2'),
      values: [customerId, userId],
    });
    return loginOf(rows);
  },
});

type FoundLogin = Partial<Login> & { readonly isWhole: boolean };

const loginSql = (condition: string): string => `
  select ${isWholeSql('credentials')} as "isWhole", found.* from (select) one left join (
    select a.customer_id::float8 as "customerId", a.user_id as "userId", a.email,
      a.verified_at is not null as "isVerified", c.name as company, u.role, c.disabled_at is null as "isOpen",
      l.password_hash as "passwordHash", l.password_changed_at::text as "passwordChangedAt", l.totp_secret_id as "totpSecretId", l.totp_pending_id as "totpPendingId",
      l.totp_last_step::float8 as "totpLastStep"
    from user_addresses a
    join logins l on l.customer_id = a.customer_id and l.user_id = a.user_id
    join users u on u.customer_id = a.customer_id and u.user_id = a.user_id and u.role is not null
    join accounts c on c.customer_id = a.customer_id
    where ${condition} and a.announced
  ) found on true`;

const loginOf = ([row]: readonly FoundLogin[]): Login | undefined => {
  // During a rebuild the tables cannot tell which accounts are open.
  if (row?.isWhole !== true)
    throw new NotDoneError('Credentials are being rebuilt. Repeat the request later.');
  const { isWhole: _, ...login } = row;
  return typeof login.userId === 'string' ? (login as Login) : undefined;
};
