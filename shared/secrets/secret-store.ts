import type { Pool } from 'pg';
import { loadOnce, type KeyRing } from './key-ring.ts';
import { seal, unseal } from './seal.ts';

/** A sweep deletes secrets that their owner does not refer to. */
export interface SecretOwner {
  readonly kind: string;
  readonly id: string;
}

/** Encrypted in a separate table. Events contain only the ids of secrets. */
export interface SecretStore {
  put(customerId: number, id: string, text: string, owner: SecretOwner): Promise<void>;
  /**
   * Like `put`, but a text stored under the id stays, so that all runs of a command have the same one.
   * @returns the stored text @throws UnreadableSecretError
   */
  putFirst(customerId: number, id: string, text: string, owner: SecretOwner): Promise<string>;
  /** @throws UnreadableSecretError */
  get(customerId: number, id: string): Promise<string | undefined>;
  remove(customerId: number, id: string): Promise<void>;
}

export const createSecretStore = (pool: Pick<Pool, 'query'>, keys: () => Promise<KeyRing>): SecretStore => {
  const keyRing = loadOnce(keys);
  return {
    put: async (customerId, id, text, owner) => {
      const { keyId, bytes } = seal(await keyRing(), purposeOf(customerId, id), text);
      await pool.query({
        name: 'secret-put',
        text: `insert into secrets (customer_id, id, key_id, sealed, owner_kind, owner_id)
               values ($1, $2, $3, $4, $5, $6)
               on conflict (customer_id, id) do update
                 set key_id = excluded.key_id, sealed = excluded.sealed, created_at = now(),
                   owner_kind = excluded.owner_kind, owner_id = excluded.owner_id`,
        values: [customerId, id, keyId, bytes, owner.kind, owner.id],
      });
    },
    putFirst: async (customerId, id, text, owner) => {
      const sealed = seal(await keyRing(), purposeOf(customerId, id), text);
      // The new time keeps the sweep of orphans away until the event is written.
      const { rows } = await pool.query<SealedRow>({
        name: 'secret-put-first',
        text: `insert into secrets (customer_id, id, key_id, sealed, owner_kind, owner_id)
               values ($1, $2, $3, $4, $5, $6)
               on conflict (customer_id, id) do update set created_at = now()
               returning key_id, sealed`,
        values: [customerId, id, sealed.keyId, sealed.bytes, owner.kind, owner.id],
      });
      return opened(await keyRing(), purposeOf(customerId, id), rows[0] as SealedRow);
    },
    get: async (customerId, id) => {
      const { rows } = await pool.query<SealedRow>({
        name: 'secret-get',
        text: 'select key_id, sealed from secrets where customer_id = $1 and id = $2',
        values: [customerId, id],
      });
      const [row] = rows;
      if (row === undefined) return undefined;
      return opened(await keyRing(), purposeOf(customerId, id), row);
    },
    remove: async (customerId, id) => {
      await pool.query({
        name: 'secret-remove',
        text: 'delete from secrets where customer_id = $1 and id = $2',
        values: [customerId, id],
      });
    },
  };
};

interface SealedRow {
  readonly key_id: string;
  readonly sealed: Buffer;
}

const opened = (keys: KeyRing, purpose: string, { key_id: keyId, sealed: bytes }: SealedRow): string =>
  unseal(keys, purpose, { keyId, bytes });

/** A copy in another account's row cannot be decrypted. */
export const purposeOf = (customerId: number, id: string): string => `secret:${customerId}:${id}`;
