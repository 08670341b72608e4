import type { Scope } from '../../domain/accounts/access.ts';
import type { TenantDatabase } from '../../shared/postgres/tenant-database.ts';
import { REPLAY_HOURS } from '../../shared/idempotency/claim.ts';
import { textArray } from '../../shared/postgres/binary-array.ts';

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

/** The Idempotency-Key is honored from the end of the request, which comes after the row was written. */
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

/** Does nothing when an earlier run of the command has written the row. */
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

/** Activates the key after its event. Inserts a row that the sweep deleted because the event took very long. */
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

/** After it returns, every process refuses the key. @returns false when the account has no such key */
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
