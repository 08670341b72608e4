import type { Pool } from 'pg';
import { int8Array, uuidArray } from '../postgres/binary-array.ts';
import type { KeyRing } from './key-ring.ts';
import { seal, unseal, UnreadableSecretError } from './seal.ts';
import { purposeOf } from './secret-store.ts';

export interface ReEncryption {
  readonly seen: number;
  readonly done: number;
  readonly unreadable: Readonly<Record<string, number>>;
  /** Keyed by key id, after the page's update. */
  readonly needed: Readonly<Record<string, number>>;
}

interface SecretRow {
  readonly customerId: number;
  readonly id: string;
  readonly keyId: string;
  readonly sealed: Buffer;
}

const ROWS_MAX = 1_000;
const FIRST = { customerId: 0, id: '00000000-0000-0000-0000-000000000000' };

/**
 * The service can run meanwhile if every process has the first key: the update compares the old ciphertext,
 * so a secret that was replaced since the read stays unchanged. An interrupted run can be repeated.
 */
export async function* reEncryptSecrets(
  pool: Pick<Pool, 'query'>,
  keys: KeyRing,
  rowsMax = ROWS_MAX,
): AsyncGenerator<ReEncryption> {
  let after: Pick<SecretRow, 'customerId' | 'id'> = FIRST;
  for (;;) {
    const { rows } = await pool.query<SecretRow>(
      `select customer_id::float8 as "customerId", id, key_id as "keyId", sealed from secrets
       where (customer_id, id) > ($1::bigint, $2::uuid)
       order by customer_id, id limit $3`,
      [after.customerId, after.id, rowsMax],
    );
    const last = rows.at(-1);
    if (last === undefined) return;
    const left = rows.filter(({ keyId }) => keyId !== keys[0].id);
    const { done, unreadable } =
      left.length === 0 ? { done: 0, unreadable: {} } : await reEncryptPage(pool, keys, left);
    yield { seen: rows.length, done, unreadable, needed: await neededFor(pool, after, last) };
    if (rows.length < rowsMax) return;
    after = last;
  }
}

const reEncryptPage = async (
  pool: Pick<Pool, 'query'>,
  keys: KeyRing,
  rows: readonly SecretRow[],
): Promise<Pick<ReEncryption, 'done' | 'unreadable'>> => {
  const unreadable: Record<string, number> = {};
  const changes = rows.flatMap((row) => {
    const bytes = reEncrypted(keys, row);
    if (bytes === undefined) unreadable[row.keyId] = (unreadable[row.keyId] ?? 0) + 1;
    return bytes === undefined ? [] : [{ ...row, bytes }];
  });
  const { rowCount } = await pool.query(
    `update secrets s set key_id = $1, sealed = n.bytes
     from unnest($2::bigint[], $3::uuid[], $4::bytea[], $5::bytea[]) as n(customer_id, id, was, bytes)
     where s.customer_id = n.customer_id and s.id = n.id and s.sealed = n.was`,
    [
      keys[0].id,
      int8Array(changes.map(({ customerId }) => customerId)),
      uuidArray(changes.map(({ id }) => id)),
      changes.map(({ sealed }) => sealed),
      changes.map(({ bytes }) => bytes),
    ],
  );
  return { done: rowCount ?? 0, unreadable };
};

const neededFor = async (
  pool: Pick<Pool, 'query'>,
  after: Pick<SecretRow, 'customerId' | 'id'>,
  last: Pick<SecretRow, 'customerId' | 'id'>,
): Promise<Readonly<Record<string, number>>> => {
  const { rows } = await pool.query<{ keyId: string; count: number }>(
    `select key_id as "keyId", count(*)::int as count from secrets
     where (customer_id, id) > ($1::bigint, $2::uuid) and (customer_id, id) <= ($3::bigint, $4::uuid)
     group by key_id`,
    [after.customerId, after.id, last.customerId, last.id],
  );
  return Object.fromEntries(rows.map(({ keyId, count }) => [keyId, count]));
};

const reEncrypted = (keys: KeyRing, { customerId, id, keyId, sealed }: SecretRow): Buffer | undefined => {
  const purpose = purposeOf(customerId, id);
  try {
    return seal(keys, purpose, unseal(keys, purpose, { keyId, bytes: sealed })).bytes;
  } catch (error) {
    if (error instanceof UnreadableSecretError) return undefined;
    throw error;
  }
};
