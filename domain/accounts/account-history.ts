import { emptyMap, entriesOf, valueOf, withValue, type SharedMap } from './shared-map.ts';
import type { Role } from './access.ts';
import type { AccountEvent } from './events.ts';
import type { ApiKeyResource } from './resource.ts';
import {
  accountAggregate,
  ENDED_KEYS_DAYS,
  firstUser,
  type Account,
  type IssuedKey,
  type OpenedAccount,
} from './account.ts';

export interface KnownKey extends IssuedKey {
  readonly revokedAt?: string;
}

export interface KnownUser {
  readonly name: string;
  readonly role: Role;
  readonly emailVerified?: boolean;
  readonly passwordSetAt?: string;
  readonly totpEnabled?: boolean;
  readonly lookupCodeUsedAt?: string;
}

/** History also shows ended keys, while commands need live keys only. */
export interface AccountPast {
  readonly account: Account;
  readonly keys: SharedMap<KnownKey>;
  readonly users: SharedMap<KnownUser>;
}

const evolve = (before: AccountPast, event: AccountEvent): AccountPast => {
  const next = accountAggregate.evolve(before.account, event);
  if (next.status === 'NONE') return before;
  // The decider's `keys` would be copied with each event.
  const past = { ...before, account: { ...next, keys: {} } };
  switch (event.type) {
    case 'AccountOpened': {
      const { customerId, sellerId } = event.data;
      const { userId, ...first } = firstUser(customerId, sellerId);
      return { ...past, users: withValue(past.users, userId, first) };
    }
    case 'UserAdded': {
      const { userId, name, role } = event.data;
      return { ...past, users: withValue(past.users, userId, { name, role }) };
    }
    case 'ApiKeyIssued': {
      const issued = next.keys[event.data.keyId];
      return issued === undefined ? past : { ...past, keys: withValue(past.keys, event.data.keyId, issued) };
    }
    case 'ApiKeyRevoked': {
      const { keyId } = event.data;
      const known = valueOf(past.keys, keyId);
      const revoked = known && { ...known, revokedAt: event.occurredAt };
      return revoked === undefined ? past : { ...past, keys: withValue(past.keys, keyId, revoked) };
    }
    case 'EmailVerified':
      return withUser(past, event.data.userId, { emailVerified: true });
    case 'PasswordSet':
      return withUser(past, event.data.userId, { passwordSetAt: event.occurredAt });
    case 'TotpEnabled':
      return withUser(past, event.data.userId, { totpEnabled: true });
    case 'TotpDisabled':
      return withUser(past, event.data.userId, { totpEnabled: false });
    case 'LookupCodeUsed':
      return withUser(past, event.data.userId, { lookupCodeUsedAt: event.occurredAt });
    case 'AccountDisabled':
    case 'AccountEnabled':
      return past;
    default:
      return (event satisfies never, past);
  }
};

const withUser = (past: AccountPast, userId: string, change: Partial<KnownUser>): AccountPast => {
  const user = valueOf(past.users, userId);
  return user === undefined
    ? past
    : { ...past, users: withValue(past.users, userId, { ...user, ...change }) };
};

export const accountPast = {
  initialState: { account: { status: 'NONE' }, keys: emptyMap, users: emptyMap } as AccountPast,
  evolve,
};

/** Estimated memory, in bytes, that an account's state does not share with the cached state before it. */
export const ACCOUNT_PAST_BYTES = 16_000;

export const accountMembers = ({
  customerId,
  name,
  customerDomain,
  status,
  disabledAt,
  users,
}: OpenedAccount) => ({
  id: customerId,
  company: name,
  customerDomain,
  status,
  disabledAt,
  users,
});

export const keyMembers = (
  id: string,
  { name, maskedKey, userId, scopes, issuedAt, expiresAt, revokedAt }: KnownKey,
) => ({
  id,
  name,
  maskedKey,
  status: revokedAt === undefined ? 'ACTIVE' : 'REVOKED',
  userId,
  scopes,
  createdAt: issuedAt,
  expiresAt,
  revokedAt,
});

const DAY_MS = 86_400_000;

/** @param at ISO 8601, UTC, milliseconds @returns without `lastUsedAt`, which no event records */
export const keysListedAt = ({ keys }: AccountPast, at: string): readonly ApiKeyResource[] => {
  const listedSince = new Date(Date.parse(at) - ENDED_KEYS_DAYS * DAY_MS).toISOString();
  const isListed = ({ revokedAt, expiresAt }: KnownKey): boolean =>
    (revokedAt === undefined || revokedAt > listedSince) &&
    (expiresAt === undefined || expiresAt > listedSince);
  return entriesOf(keys)
    .filter(([, key]) => isListed(key))
    .map(([id, key]) => keyAt(id, key, at))
    .sort((one, other) => (isBefore(one, other) ? 1 : -1));
};

const isBefore = (one: ApiKeyResource, other: ApiKeyResource): boolean =>
  one.createdAt === other.createdAt ? one.id < other.id : one.createdAt < other.createdAt;

const keyAt = (
  id: string,
  { name, maskedKey, scopes, issuedAt, expiresAt, revokedAt }: KnownKey,
  at: string,
): ApiKeyResource => {
  const hasExpired = expiresAt !== undefined && expiresAt <= at;
  return {
    id,
    name,
    maskedKey,
    status: revokedAt !== undefined ? 'REVOKED' : hasExpired ? 'EXPIRED' : 'ACTIVE',
    scopes: [...scopes],
    ...(expiresAt === undefined ? {} : { expiresAt }),
    createdAt: issuedAt,
  };
};

export const userMembers = (id: string, user: KnownUser) => ({ id, ...user });
