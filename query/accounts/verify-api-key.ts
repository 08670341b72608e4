import { timingSafeEqual } from 'node:crypto';
import type { Pool } from 'pg';
import { parseApiKey } from '../../shared/secrets/api-key.ts';
import { coalesce } from '../../shared/async/coalesce.ts';
import { textArray } from '../../shared/postgres/binary-array.ts';
import type { Scope, Verification, VerifyCredential } from '../../shared/http/principal.ts';
import {
  holderColumns,
  isOfOpenAccount,
  refusedHolder,
  rejected,
  rememberLast,
  sharedLookups,
  verifiedHolder,
  type StoredHolder,
} from './holder.ts';

interface StoredKey extends StoredHolder {
  readonly keyId: string;
  readonly secretHash: Buffer;
  readonly scopes: readonly Scope[];
  readonly askedAt: number;
  readonly isOver: boolean;
  readonly announced: boolean;
  verified?: Verification;
}

/**
 * Caches nothing between requests: a revoked or expired key, or one of a disabled account, is refused on its
 * next request on every node (specification, Authentication, rule 4). Concurrent requests share a lookup. A
 * refusal of a right secret names the key's owner, for the audit log. During a rebuild of these tables every
 * credential gets 503: an account looks open that a later event disables.
 * @param pool of the installation: before the key is verified, there is no account to bind to
 * @param used called for every verified key
 */
export const verifyApiKey = (
  pool: Pick<Pool, 'query'>,
  used: (keyId: string) => void = () => undefined,
): VerifyCredential => {
  const lookUp = coalesce((keyIds: readonly string[]) => storedKeys(pool, keyIds), sharedLookups);
  const parse = rememberLast(parseApiKey);
  return async (credential, connection) => {
    const presented = parse(credential, connection);
    if (presented === undefined) return rejected;
    const stored = await lookUp(presented.keyId);
    if (stored === undefined || !timingSafeEqual(stored.secretHash, presented.secretHash)) return rejected;
    const actor = `api-key:${presented.keyId}`;
    if (stored.isOver || !isOfOpenAccount(stored) || !stored.announced) return refusedHolder(stored, actor);
    used(presented.keyId);
    // All requests of one lookup have the same principal.
    const { scopes, askedAt } = stored;
    stored.verified ??= verifiedHolder(stored, { kind: 'api-key', actor, scopes, credential, askedAt });
    return stored.verified;
  };
};

const storedKeys = async (
  pool: Pick<Pool, 'query'>,
  keyIds: readonly string[],
): Promise<readonly (StoredKey | undefined)[]> => {
  const askedAt = performance.now();
  const { rows } = await pool.query<Omit<StoredKey, 'askedAt'>>({
    name: 'api-keys-by-id',
    text: `select key_id as "keyId", secret_hash as "secretHash", scopes, announced,
             revoked_at is not null or coalesce(expires_at <= clock_timestamp(), false) as "isOver",
             ${holderColumns('k', 'k.expires_at')}
           from api_keys k
           where key_id = any($1::text[])`,
    values: [textArray([...new Set(keyIds)])],
  });
  const byId = new Map(rows.map((row): [string, StoredKey] => [row.keyId, { ...row, askedAt }]));
  return keyIds.map((keyId) => byId.get(keyId));
};
