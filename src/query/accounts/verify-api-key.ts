import { timingSafeEqual } from 'node:crypto';
import type { Pool } from 'pg';
import { parseApiKey, sealerOf } from '../../shared/auth/api-key.ts';
import { coalesce } from '../../shared/coalesce.ts';
import type { Principal, Scope, Verification, VerifyCredential } from '../../shared/http/principal.ts';
import { accountMarkSql } from '../../shared/read-your-writes/account-mark.ts';

interface StoredKey {
  readonly keyId: string;
  readonly customerId: string;
  readonly secretHash: Buffer;
  readonly userId: string;
  /** Null when there is no such user: the account was never quite opened. */
  readonly role: NonNullable<Principal['user']>['role'] | null;
  readonly scopes: readonly Scope[];
  readonly mark: string;
}

const rejected: Verification = { outcome: 'rejected' };

/**
 * Verifies API keys against their stored hashes. Nothing is remembered between requests, so a revoked key
 * is refused on its next request on every node (specification, Authentication, rule 4), as is one that has
 * expired or whose account is disabled; requests that arrive together are looked up together. The account's mark
 * comes along: it is read after the request came.
 * @param pool with the rights of the installation: before a key is verified there is no account to be bound to
 * @param used told of every key that verified
 */
export const verifyApiKey = (
  pool: Pick<Pool, 'query'>,
  used: (keyId: string) => void = () => undefined,
): VerifyCredential => {
  const lookUp = coalesce((keyIds: readonly string[]) => storedKeys(pool, keyIds), {
    batchMax: 200,
    inFlightMax: 2,
  });
  return async (credential) => {
    const presented = parseApiKey(credential);
    if (presented === undefined) return rejected;
    const stored = await lookUp(presented.keyId);
    if (stored === undefined || stored.role === null) return rejected;
    if (!timingSafeEqual(stored.secretHash, presented.secretHash)) return rejected;
    used(presented.keyId);
    return {
      outcome: 'verified',
      principal: {
        customerId: Number(stored.customerId),
        actor: `api-key:${presented.keyId}`,
        scopes: stored.scopes.filter((scope) => scope !== 'exchange:admin' || stored.role === 'admin'),
        user: { id: stored.userId, role: stored.role },
        sealer: sealerOf(credential),
        mark: stored.mark,
      },
    };
  };
};

const storedKeys = async (
  pool: Pick<Pool, 'query'>,
  keyIds: readonly string[],
): Promise<readonly (StoredKey | undefined)[]> => {
  const { rows } = await pool.query<StoredKey>({
    name: 'api-keys-by-id',
    text: `select key_id as "keyId", customer_id as "customerId", secret_hash as "secretHash",
             user_id as "userId", scopes,
             (select role from users u where u.customer_id = k.customer_id and u.user_id = k.user_id) as role,
             ${accountMarkSql('k.customer_id')} as mark
           from api_keys k
           where key_id = any($1::text[]) and revoked_at is null
             and (expires_at is null or expires_at > clock_timestamp())
             and (select disabled_at is null from accounts a where a.customer_id = k.customer_id)`,
    values: [keyIds],
  });
  const byId = new Map(rows.map((row) => [row.keyId, row]));
  return keyIds.map((keyId) => byId.get(keyId));
};
