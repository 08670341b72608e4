import type { Pool } from 'pg';
import type { KeyRing } from './key-ring.ts';
import { unseal, UnreadableSecretError } from './seal.ts';
import { purposeOf } from './secret-store.ts';

export interface CheckedSecrets {
  readonly secrets: number;
  /** Secrets that the ring cannot decrypt, by the id of their key. */
  readonly unreadable: Readonly<Record<string, number>>;
}

interface SecretRow {
  readonly customerId: number;
  readonly id: string;
  readonly keyId: string;
  readonly sealed: Buffer;
}

const ROWS_MAX = 1_000;

/** Decrypts every stored secret, and keeps none. */
export const checkSecrets = async (pool: Pick<Pool, 'query'>, keys: KeyRing): Promise<CheckedSecrets> => {
  const unreadable: Record<string, number> = {};
  let secrets = 0;
  let [account, id] = [0, '00000000-0000-0000-0000-000000000000'];
  for (;;) {
    const { rows } = await pool.query<SecretRow>(
      `select customer_id::float8 as "customerId", id, key_id as "keyId", sealed from secrets
       where (customer_id, id) > ($1::bigint, $2::uuid) order by customer_id, id limit $3`,
      [account, id, ROWS_MAX],
    );
    for (const row of rows) {
      if (!isReadable(keys, row)) unreadable[row.keyId] = (unreadable[row.keyId] ?? 0) + 1;
    }
    secrets += rows.length;
    const last = rows.at(-1);
    if (last === undefined || rows.length < ROWS_MAX) return { secrets, unreadable };
    [account, id] = [last.customerId, last.id];
  }
};

const isReadable = (keys: KeyRing, { customerId, id, keyId, sealed }: SecretRow): boolean => {
  try {
    unseal(keys, purposeOf(customerId, id), { keyId, bytes: sealed });
    return true;
  } catch (error) {
    if (error instanceof UnreadableSecretError) return false;
    throw error;
  }
};
