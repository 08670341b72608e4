import type { Scope } from '../../domain/accounts/access.ts';
import type { TenantDatabase } from '../../shared/postgres/tenant-database.ts';
import { REPLAY_HOURS } from '../../shared/idempotency/replay-window.ts';
import { textArray } from '../../shared/postgres/binary-array.ts';

/** The rows that credentials are checked against. Every statement names the account, and is bound to it besides. */

export interface NewKeyRow {
  readonly keyId: string;
  readonly userId: string;
  readonly name: string;
  readonly maskedKey: string;
  readonly scopes: readonly Scope[];
  readonly secretHash: Buffer;
  readonly createdAt: string;
  readonly expiresAt?: string | undefined;
  readonly sealedSecret?: Buffer | undefined;
}

/**
 * An idempotency key is honored from the completion of its request on, which comes after the row was written: an
 * hour is far more than that takes.
 */
const SEALED_HOURS = REPLAY_HOURS + 1;

const insert = `insert into api_keys as k (key_id, customer_id, user_id, name, masked_key, scopes, secret_hash,
    created_at, expires_at, sealed_secret, sealed_until, announced)
  values ($1, $2, $3, $4, $5, $6::text[], $7::bytea, $8::timestamptz, $9::timestamptz, $10::bytea,
    case when $10::bytea is not null then now() + interval '${SEALED_HOURS} hours' end, $11::boolean)`;

const valuesOf = (customerId: number, row: NewKeyRow, announced: boolean): readonly unknown[] => [
  row.keyId,
  customerId,
  row.userId,
  row.name,
  row.maskedKey,
  textArray(row.scopes),
  row.secretHash,
  row.createdAt,
  row.expiresAt,
  row.sealedSecret,
  announced,
];

/**
 * Writes the row of a key that is not live yet. Does nothing when the key has a row already: the command was run
 * before.
 */
export const insertKeyRow = async (
  database: TenantDatabase,
  customerId: number,
  row: NewKeyRow,
): Promise<void> => {
  await database.query(customerId, {
    name: 'api-key-insert',
    text: `${insert} on conflict do nothing`,
    values: valuesOf(customerId, row, false),
  });
};

/**
 * Makes the key live, once its event is in the stream; and lets its issuer repeat the request for as long again.
 * Writes the whole row where it is missing: one that waited very long for its event may have been swept.
 */
export const announceKeyRow = async (
  database: TenantDatabase,
  customerId: number,
  row: NewKeyRow,
): Promise<void> => {
  await database.query(customerId, {
    name: 'api-key-announce',
    text: `${insert}
           on conflict (key_id) do update set announced = true,
             sealed_until = case when k.sealed_secret is null then null else excluded.sealed_until end
           where k.customer_id = $2`,
    values: valuesOf(customerId, row, true),
  });
};

export interface KeptSecret {
  /** Null when it was not sealed, or is no longer kept. */
  readonly sealedSecret: Buffer | null;
  readonly createdAt: Date;
}

export const readSealedSecret = async (
  database: TenantDatabase,
  customerId: number,
  keyId: string,
): Promise<KeptSecret | undefined> => {
  const [row] = await database.query<KeptSecret>(customerId, {
    name: 'api-key-sealed',
    text: `select sealed_secret as "sealedSecret", created_at as "createdAt" from api_keys
           where customer_id = $1 and key_id = $2`,
    values: [customerId, keyId],
  });
  return row;
};

/** Takes back a key that nobody has seen; not one that another run of the same command has announced. */
export const deleteKeyRow = async (
  database: TenantDatabase,
  customerId: number,
  keyId: string,
): Promise<void> => {
  await database.query(customerId, {
    name: 'api-key-delete',
    text: `delete from api_keys where customer_id = $1 and key_id = $2 and not announced`,
    values: [customerId, keyId],
  });
};

/**
 * From its return on the key is refused everywhere.
 * @returns false when the account has no such key
 */
export const revokeKeyRow = async (
  database: TenantDatabase,
  customerId: number,
  keyId: string,
  revokedAt: string,
): Promise<boolean> => {
  const rows = await database.query(customerId, {
    name: 'api-key-revoke',
    text: `update api_keys set revoked_at = coalesce(revoked_at, $3::timestamptz), sealed_secret = null
           where customer_id = $1 and key_id = $2 returning key_id`,
    values: [customerId, keyId, revokedAt],
  });
  return rows.length > 0;
};

/** Those of the keys that are revoked. */
export const revokedAmong = async (
  database: TenantDatabase,
  customerId: number,
  keyIds: readonly string[],
): Promise<readonly string[]> => {
  const rows = await database.query<{ keyId: string }>(customerId, {
    name: 'api-keys-revoked',
    text: `select key_id as "keyId" from api_keys
           where customer_id = $1 and key_id = any($2::text[]) and revoked_at is not null`,
    values: [customerId, textArray(keyIds)],
  });
  return rows.map(({ keyId }) => keyId);
};
