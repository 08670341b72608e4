import { timingSafeEqual } from 'node:crypto';
import type { Pool } from 'pg';
import { parseApiKey, sealerOf } from '../../shared/secrets/api-key.ts';
import { coalesce } from '../../shared/async/coalesce.ts';
import { textArray } from '../../shared/postgres/binary-array.ts';
import type {
  Holder,
  Principal,
  Scope,
  Verification,
  VerifyCredential,
} from '../../shared/http/principal.ts';
import { accountVersionSql, isWholeSql } from '../../shared/follow-log/written-position.ts';

type Role = NonNullable<Principal['user']>['role'];

interface StoredKey {
  readonly keyId: string;
  readonly customerId: string;
  readonly secretHash: Buffer;
  readonly userId: string;
  readonly role: Role | null;
  readonly scopes: readonly Scope[];
  readonly version: string;
  readonly askedAt: number;
  readonly isOver: boolean;
  /** Announced, and the account is open. Valid only if `isWhole`. */
  readonly isLive: boolean;
  readonly isWhole: boolean;
  verified?: Verification;
}

/** During a rebuild the tables cannot tell which accounts are open. */
class CredentialsIncompleteError extends Error {
  override readonly name = 'CredentialsIncompleteError';
}

const rejected: Verification = { outcome: 'rejected' };

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
  const lookUp = coalesce((keyIds: readonly string[]) => storedKeys(pool, keyIds), {
    batchMax: 200,
    inFlightMax: 2,
    waitMsMax: 20,
  });
  const parse = rememberLast(parseApiKey);
  return async (credential, connection) => {
    const presented = parse(credential, connection);
    if (presented === undefined) return rejected;
    const stored = await lookUp(presented.keyId);
    if (stored === undefined || !timingSafeEqual(stored.secretHash, presented.secretHash)) return rejected;
    if (stored.isOver) return refusedHolder(stored);
    if (!stored.isWhole)
      throw new CredentialsIncompleteError('the read model of credentials is being rebuilt');
    if (!stored.isLive || stored.role === null) return refusedHolder(stored);
    used(presented.keyId);
    // All requests of one lookup have the same principal.
    stored.verified ??= verifiedAs(stored, stored.role, credential);
    return stored.verified;
  };
};

/** The secret was right, so the caller has held the key: the account may see this in its audit log. */
const refusedHolder = (stored: StoredKey): Verification =>
  stored.role === null ? rejected : { outcome: 'rejected', holder: holderOf(stored, stored.role) };

const holderOf = ({ keyId, customerId, userId }: StoredKey, role: Role): Holder => ({
  customerId: Number(customerId),
  actor: `api-key:${keyId}`,
  user: { id: userId, role },
});

const verifiedAs = (stored: StoredKey, role: Role, credential: string): Verification => ({
  outcome: 'verified',
  principal: {
    kind: 'api-key',
    ...holderOf(stored, role),
    scopes: stored.scopes.filter((scope) => isAllowed(scope, role)),
    sealer: sealerOf(credential),
    version: { text: stored.version, askedAt: stored.askedAt },
  },
});

const isAllowed = (scope: Scope, role: Role): boolean => {
  if (role === 'seller') return scope === 'exchange:review';
  return scope === 'exchange:admin' ? role === 'admin' : scope !== 'exchange:review';
};

/** Most connections repeat one credential, so it is parsed and hashed once a connection. */
const rememberLast = <Parsed>(parse: (credential: string) => Parsed) => {
  const last = new WeakMap<object, { readonly credential: string; readonly parsed: Parsed }>();
  return (credential: string, connection: object): Parsed => {
    const before = last.get(connection);
    if (before?.credential === credential) return before.parsed;
    const parsed = parse(credential);
    last.set(connection, { credential, parsed });
    return parsed;
  };
};

const storedKeys = async (
  pool: Pick<Pool, 'query'>,
  keyIds: readonly string[],
): Promise<readonly (StoredKey | undefined)[]> => {
  const askedAt = performance.now();
  const { rows } = await pool.query<Omit<StoredKey, 'askedAt'>>({
    name: 'api-keys-by-id',
    text: `select key_id as "keyId", customer_id as "customerId", secret_hash as "secretHash",
             user_id as "userId", scopes,
             (select role from users u where u.customer_id = k.customer_id and u.user_id = k.user_id) as role,
             ${accountVersionSql('k.customer_id')} as version,
             coalesce(announced and (select disabled_at is null
               from accounts a where a.customer_id = k.customer_id), false) as "isLive",
             ${isWholeSql('credentials')} as "isWhole",
             revoked_at is not null or coalesce(expires_at <= clock_timestamp(), false) as "isOver"
           from api_keys k
           where key_id = any($1::text[])`,
    values: [textArray([...new Set(keyIds)])],
  });
  const byId = new Map(rows.map((row): [string, StoredKey] => [row.keyId, { ...row, askedAt }]));
  return keyIds.map((keyId) => byId.get(keyId));
};
