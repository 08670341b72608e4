import { timingSafeEqual } from 'node:crypto';
import type { Pool } from 'pg';
import { isAccessKnownSql } from '../../shared/auth/account-rows.ts';
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
import { accountVersionSql } from '../../shared/follow-log/account-mark.ts';

type Role = NonNullable<Principal['user']>['role'];

interface StoredKey {
  readonly keyId: string;
  readonly customerId: string;
  readonly secretHash: Buffer;
  readonly userId: string;
  /** Null when there is no such user: the account was never quite opened. */
  readonly role: Role | null;
  readonly scopes: readonly Scope[];
  readonly version: string;
  readonly askedAt: number;
  /** It was revoked, or has expired. */
  readonly isOver: boolean;
  /** The key was announced, and its account is open: so say rows that mean nothing unless `isWhole`. */
  readonly isLive: boolean;
  /** The rows are not being made anew. */
  readonly isWhole: boolean;
  /** What became of the first of the requests that were looked up with this row. */
  verified?: Verification;
}

/** The rows that credentials are checked against are being made anew: who may come in is not known yet. */
class CredentialsIncompleteError extends Error {
  override readonly name = 'CredentialsIncompleteError';
}

const rejected: Verification = { outcome: 'rejected' };

/**
 * Verifies API keys against their stored hashes. Nothing is remembered between requests, so a revoked key
 * is refused on its next request on every node (specification, Authentication, rule 4), as is one that has
 * expired, was never announced or whose account is disabled; requests that arrive together are looked up together.
 * Whose such a key was is told with its refusal, to whoever has its secret.
 * The version of the account's data comes along: it is read after the request came.
 *
 * While the read model of credentials is made anew, every credential is turned away with 503: on the way from the log's
 * start its rows say that an account is open which a later event has disabled.
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
    patienceMs: 20,
  });
  const parse = rememberLast(parseApiKey);
  return async (credential, connection) => {
    const presented = parse(credential, connection);
    if (presented === undefined) return rejected;
    const stored = await lookUp(presented.keyId);
    if (stored === undefined || !timingSafeEqual(stored.secretHash, presented.secretHash)) return rejected;
    if (stored.isOver) return formerly(stored);
    if (!stored.isWhole) throw new CredentialsIncompleteError('the read model of credentials is made anew');
    if (!stored.isLive || stored.role === null) return formerly(stored);
    used(presented.keyId);
    // Requests that were looked up together with one key are the same principal's.
    stored.verified ??= verifiedAs(stored, stored.role, credential);
    return stored.verified;
  };
};

/** Its secret was the right one: whoever sent it has held the key, which its account may know. */
const formerly = (stored: StoredKey): Verification =>
  stored.role === null ? rejected : { outcome: 'rejected', holder: holderOf(stored, stored.role) };

const holderOf = ({ keyId, customerId, userId }: StoredKey, role: Role): Holder => ({
  customerId: Number(customerId),
  actor: `api-key:${keyId}`,
  user: { id: userId, role },
});

const verifiedAs = (stored: StoredKey, role: Role, credential: string): Verification => ({
  outcome: 'verified',
  principal: {
    ...holderOf(stored, role),
    scopes: stored.scopes.filter((scope) => isAllowed(scope, role)),
    sealer: sealerOf(credential),
    version: { text: stored.version, askedAt: stored.askedAt },
  },
});

/** The key's scopes count as far as its user's role still allows them. */
const isAllowed = (scope: Scope, role: Role): boolean => {
  if (role === 'seller') return scope === 'exchange:review';
  return scope === 'exchange:admin' ? role === 'admin' : scope !== 'exchange:review';
};

/** Most connections bring the same credential again and again: it is parsed and hashed once. */
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
             coalesce(announced and (select disabled_at is null and access_revision >= 0
               from accounts a where a.customer_id = k.customer_id), false) as "isLive",
             ${isAccessKnownSql} as "isWhole",
             revoked_at is not null or coalesce(expires_at <= clock_timestamp(), false) as "isOver"
           from api_keys k
           where key_id = any($1::text[])`,
    values: [textArray([...new Set(keyIds)])],
  });
  const byId = new Map(rows.map((row): [string, StoredKey] => [row.keyId, { ...row, askedAt }]));
  return keyIds.map((keyId) => byId.get(keyId));
};
