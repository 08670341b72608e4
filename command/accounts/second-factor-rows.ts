import type { Database, Login, UserKey } from './login-rows.ts';

/** The second factor of a login. */

/** After this number of wrong codes, further ones are refused for the minutes. */
const CODE_FAILURES_MAX = 10;
const CODE_MINUTES = 15;

/** One update, so that a step is accepted once. @returns false if it was accepted before */
export const acceptStep = async (
  database: Database,
  { customerId, userId, totpSecretId }: Pick<Login, 'customerId' | 'userId' | 'totpSecretId'>,
  step: number,
): Promise<boolean> => {
  const { rowCount } = await database.query({
    name: 'login-accept-step',
    text: `update logins set totp_last_step = $4, code_failures = 0
           where customer_id = $1 and user_id = $2 and totp_secret_id = $3
             and (totp_last_step is null or totp_last_step < $4)`,
    values: [customerId, userId, totpSecretId, step],
  });
  return rowCount === 1;
};

/** One update, so that a code works once. */
export const takeLookupCode = async (
  database: Database,
  { customerId, userId }: UserKey,
  codeHash: Buffer,
): Promise<boolean> => {
  const { rowCount } = await database.query({
    name: 'login-take-lookup-code',
    text: `update logins set lookup_codes = array_remove(lookup_codes, $3::bytea), code_failures = 0
           where customer_id = $1 and user_id = $2 and totp_secret_id is not null
             and $3::bytea = any(lookup_codes)`,
    values: [customerId, userId, codeHash],
  });
  return rowCount === 1;
};

/**
 * Before the code is checked, so that requests at once are not more tries than others; a right code ends the count.
 * @returns false after too many
 */
export const countCodeTry = async (database: Database, { customerId, userId }: UserKey): Promise<boolean> => {
  const { rowCount } = await database.query({
    name: 'login-code-try',
    text: `update logins set code_failed_at = clock_timestamp(), code_failures =
             case when code_failed_at > clock_timestamp() - interval '${CODE_MINUTES} minutes'
               then code_failures + 1 else 1 end
           where customer_id = $1 and user_id = $2
             and (code_failures < ${CODE_FAILURES_MAX}
               or code_failed_at <= clock_timestamp() - interval '${CODE_MINUTES} minutes')`,
    values: [customerId, userId],
  });
  return rowCount === 1;
};

/** @returns false if the user has a second factor already */
export const setPendingSeed = async (
  database: Database,
  { customerId, userId }: UserKey,
  secretId: string,
): Promise<boolean> => {
  const { rowCount } = await database.query({
    name: 'login-pending-seed',
    text: `update logins set totp_pending_id = $3
           where customer_id = $1 and user_id = $2 and totp_secret_id is null`,
    values: [customerId, userId, secretId],
  });
  return rowCount === 1;
};

export interface ConfirmedSeed extends UserKey {
  readonly secretId: string;
  readonly step: number;
  readonly codeHashes: readonly Buffer[];
}

/** @returns false if the seed is not the pending one */
export const confirmSeed = async (
  database: Database,
  { customerId, userId, secretId, step, codeHashes }: ConfirmedSeed,
): Promise<boolean> => {
  const { rowCount } = await database.query({
    name: 'login-confirm-seed',
    text: `update logins set totp_secret_id = totp_pending_id, totp_pending_id = null, totp_last_step = $4,
             lookup_codes = $5::bytea[], code_failures = 0
           where customer_id = $1 and user_id = $2 and totp_pending_id = $3 and totp_secret_id is null`,
    values: [customerId, userId, secretId, step, codeHashes],
  });
  return rowCount === 1;
};

/** @returns the id of the seed, for its deletion */
export const removeSeed = async (
  database: Database,
  { customerId, userId }: UserKey,
): Promise<string | undefined> => {
  const { rows } = await database.query<{ secretId: string | null }>({
    name: 'login-remove-seed',
    text: `update logins l set totp_secret_id = null, totp_pending_id = null, totp_last_step = null,
             lookup_codes = '{}', code_failures = 0
           from logins before
           where l.customer_id = $1 and l.user_id = $2
             and before.customer_id = $1 and before.user_id = $2
           returning before.totp_secret_id as "secretId"`,
    values: [customerId, userId],
  });
  return rows[0]?.secretId ?? undefined;
};
