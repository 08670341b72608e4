import { timingSafeEqual } from 'node:crypto';
import type { Pool } from 'pg';
import { parseApiKey } from '../../shared/auth/api-key.ts';
import { coalesce } from '../../shared/coalesce.ts';
import type { Verification, VerifyCredential } from '../../shared/http/principal.ts';
import { accountMarkSql } from '../../shared/read-your-writes/account-mark.ts';

interface StoredKey {
  readonly customerId: number;
  readonly secretHash: Buffer;
  readonly mark: string;
}

const rejected: Verification = { outcome: 'rejected' };

/**
 * Verifies API keys against their stored hashes. Nothing is remembered between requests, so a revoked key
 * is refused on its next request on every node (specification, Authentication, rule 4); requests that
 * arrive together are looked up together. The account's mark comes along: it is read after the request came.
 */
export const verifyApiKey = (pool: Pool): VerifyCredential => {
  const lookUp = coalesce((keyIds: readonly string[]) => storedKeys(pool, keyIds), {
    batchMax: 200,
    inFlightMax: 2,
  });
  return async (credential) => {
    const presented = parseApiKey(credential);
    if (presented === undefined) return rejected;
    const stored = await lookUp(presented.keyId);
    if (stored === undefined || !timingSafeEqual(stored.secretHash, presented.secretHash)) return rejected;
    return {
      outcome: 'verified',
      principal: {
        customerId: stored.customerId,
        actor: `api-key:${presented.keyId}`,
        mark: stored.mark,
      },
    };
  };
};

const storedKeys = async (
  pool: Pool,
  keyIds: readonly string[],
): Promise<readonly (StoredKey | undefined)[]> => {
  const { rows } = await pool.query<{
    key_id: string;
    customer_id: string;
    secret_hash: Buffer;
    mark: string;
  }>({
    name: 'api-keys-by-id',
    text: `select key_id, customer_id, secret_hash, ${accountMarkSql('api_keys.customer_id')} as mark from api_keys
           where key_id = any($1::text[]) and revoked_at is null`,
    values: [keyIds],
  });
  const byId = new Map(
    rows.map((row) => [
      row.key_id,
      { customerId: Number(row.customer_id), secretHash: row.secret_hash, mark: row.mark },
    ]),
  );
  return keyIds.map((keyId) => byId.get(keyId));
};
