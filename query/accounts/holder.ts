import { sealerOf } from '../../shared/secrets/api-key.ts';
import { accountVersionSql, isWholeSql } from '../../shared/follow-log/written-position.ts';
import type {
  Holder,
  Principal,
  Scope,
  Verification,
  VerifiedPrincipal,
} from '../../shared/http/principal.ts';

type Role = NonNullable<Principal['user']>['role'];

/** Whose credential it is. The columns are the same for every kind of credential. */
export interface StoredHolder {
  readonly customerId: string;
  readonly userId: string;
  /** Null after the user was removed. */
  readonly role: Role | null;
  readonly isOpen: boolean;
  readonly isWhole: boolean;
  readonly version: string;
  /** Until the credential expires, by the clock of the database; null if it does not. */
  readonly msLeft: number | null;
}

/** @param row alias of a row with `customer_id` and `user_id` @param expiresAt SQL of the end of the credential */
export const holderColumns = (row: string, expiresAt: string): string => `
  (extract(epoch from ${expiresAt} - clock_timestamp()) * 1000)::float8 as "msLeft",
  ${row}.customer_id as "customerId", ${row}.user_id as "userId",
  (select role from users u where u.customer_id = ${row}.customer_id and u.user_id = ${row}.user_id) as role,
  coalesce((select disabled_at is null from accounts a where a.customer_id = ${row}.customer_id), false) as "isOpen",
  ${isWholeSql('credentials')} as "isWhole",
  ${accountVersionSql(`${row}.customer_id`)} as version`;

export const rejected: Verification = { outcome: 'rejected' };

/** During a rebuild the tables cannot tell which accounts are open. */
class CredentialsIncompleteError extends Error {
  override readonly name = 'CredentialsIncompleteError';
}

/** @throws CredentialsIncompleteError */
export const isOfOpenAccount = ({ isWhole, isOpen }: StoredHolder): boolean => {
  if (!isWhole) throw new CredentialsIncompleteError('the read model of credentials is being rebuilt');
  return isOpen;
};

/** The secret was right, so the caller has held the credential: the account may see this in its audit log. */
export const refusedHolder = (stored: StoredHolder, actor: string): Verification => {
  const holder = holderOf(stored, actor);
  return holder === undefined ? rejected : { outcome: 'rejected', holder };
};

const holderOf = ({ customerId, userId, role }: StoredHolder, actor: string): Holder | undefined =>
  role === null ? undefined : { customerId: Number(customerId), actor, user: { id: userId, role } };

export interface VerifiedCredential extends Pick<VerifiedPrincipal, 'kind' | 'actor' | 'subject'> {
  readonly scopes: readonly Scope[];
  readonly credential: string;
  readonly askedAt: number;
}

/** With the present role of the user: it decides which scopes the credential still has. */
export const verifiedHolder = (
  stored: StoredHolder,
  { credential, askedAt, scopes, ...presented }: VerifiedCredential,
): Verification => {
  const holder = holderOf(stored, presented.actor);
  if (holder?.user === undefined) return rejected;
  const { role } = holder.user;
  return {
    outcome: 'verified',
    principal: {
      ...presented,
      ...holder,
      scopes: scopes.filter((scope) => isAllowed(scope, role)),
      sealer: sealerOf(credential),
      version: { text: stored.version, askedAt },
      ...(stored.msLeft !== null && { expiresAtMs: askedAt + stored.msLeft }),
    },
  };
};

const isAllowed = (scope: Scope, role: Role): boolean => {
  if (role === 'seller') return scope === 'exchange:review';
  return scope === 'exchange:admin' ? role === 'admin' : scope !== 'exchange:review';
};

/** Concurrent requests share a lookup of their credentials. */
export const sharedLookups = { batchMax: 200, inFlightMax: 2, waitMsMax: 20 } as const;

/** Most connections repeat one credential, so it is parsed and hashed once a connection. */
export const rememberLast = <Parsed>(parse: (credential: string) => Parsed) => {
  const last = new WeakMap<object, { readonly credential: string; readonly parsed: Parsed }>();
  return (credential: string, connection: object): Parsed => {
    const before = last.get(connection);
    if (before?.credential === credential) return before.parsed;
    const parsed = parse(credential);
    last.set(connection, { credential, parsed });
    return parsed;
  };
};
