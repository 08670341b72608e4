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
import { invitationEnd } from './members.ts';

export interface KnownKey extends IssuedKey {
  readonly revokedAt?: string;
}

export interface KnownUser {
  readonly name: string;
  readonly role: Role;
  readonly removedAt?: string;
  readonly emailVerified?: boolean;
  readonly passwordSetAt?: string;
  readonly totpEnabled?: boolean;
  readonly lookupCodeUsedAt?: string;
  /** By the operator. */
  readonly linkIssuedAt?: string;
}

export interface KnownInvitation {
  readonly role: Role;
  readonly invitedAt: string;
  readonly acceptedBy?: string;
  readonly revokedAt?: string;
}

export interface KnownOrigin {
  readonly origin: string;
  readonly label?: string | undefined;
  readonly userId: string;
  readonly registeredAt: string;
  readonly removedAt?: string;
}

/** History also shows what has ended, while commands need only what is live. */
export interface AccountPast {
  readonly account: Account;
  readonly keys: SharedMap<KnownKey>;
  readonly users: SharedMap<KnownUser>;
  readonly invitations: SharedMap<KnownInvitation>;
  readonly origins: SharedMap<KnownOrigin>;
}

const changed = <Value>(
  map: SharedMap<Value>,
  key: string,
  change: (value: Value) => Value,
): SharedMap<Value> => {
  const known = valueOf(map, key);
  return known === undefined ? map : withValue(map, key, change(known));
};

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
    case 'UserAdded':
      return withAddedUser(past, event);
    case 'UserRoleChanged':
    case 'UserRemoved':
    case 'EmailVerified':
    case 'PasswordSet':
    case 'TotpEnabled':
    case 'TotpDisabled':
    case 'LookupCodeUsed':
    case 'UserLinkIssued':
      return { ...past, users: changed(past.users, event.data.userId, (user) => changedUser(user, event)) };
    case 'UserInvited':
    case 'InvitationRevoked':
      return { ...past, invitations: withInvitationEvent(past.invitations, event) };
    case 'BrowserOriginRegistered':
    case 'BrowserOriginRemoved':
      return { ...past, origins: withOriginEvent(past.origins, event) };
    case 'ApiKeyIssued': {
      const issued = next.keys[event.data.keyId];
      return issued === undefined ? past : { ...past, keys: withValue(past.keys, event.data.keyId, issued) };
    }
    case 'ApiKeyRevoked': {
      const revokedAt = event.occurredAt;
      return { ...past, keys: changed(past.keys, event.data.keyId, (key) => ({ ...key, revokedAt })) };
    }
    case 'AccountDisabled':
    case 'AccountEnabled':
      return past;
    default:
      return (event satisfies never, past);
  }
};

type Of<Type extends AccountEvent['type']> = Extract<AccountEvent, { type: Type }>;

const withAddedUser = (
  past: AccountPast,
  { data: { userId, name, role, invitationId } }: Of<'UserAdded'>,
): AccountPast => {
  const users = withValue(past.users, userId, { name, role });
  if (invitationId === undefined) return { ...past, users };
  const accepted = (invitation: KnownInvitation) => ({ ...invitation, acceptedBy: userId });
  return { ...past, users, invitations: changed(past.invitations, invitationId, accepted) };
};

type UserChange = Of<
  | 'UserRoleChanged'
  | 'UserRemoved'
  | 'EmailVerified'
  | 'PasswordSet'
  | 'TotpEnabled'
  | 'TotpDisabled'
  | 'LookupCodeUsed'
  | 'UserLinkIssued'
>;

const changedUser = (user: KnownUser, { type, data, occurredAt }: UserChange): KnownUser => {
  switch (type) {
    case 'UserRoleChanged':
      return { ...user, role: data.role };
    case 'UserRemoved':
      return { ...user, removedAt: occurredAt };
    case 'EmailVerified':
      return { ...user, emailVerified: true };
    case 'PasswordSet':
      return { ...user, passwordSetAt: occurredAt };
    case 'TotpEnabled':
      return { ...user, totpEnabled: true };
    case 'TotpDisabled':
      return { ...user, totpEnabled: false };
    case 'LookupCodeUsed':
      return { ...user, lookupCodeUsedAt: occurredAt };
    case 'UserLinkIssued':
      return { ...user, linkIssuedAt: occurredAt };
    default:
      return (type satisfies never, user);
  }
};

const withInvitationEvent = (
  invitations: AccountPast['invitations'],
  { type, data, occurredAt }: Of<'UserInvited' | 'InvitationRevoked'>,
): AccountPast['invitations'] =>
  type === 'UserInvited'
    ? withValue(invitations, data.invitationId, { role: data.role, invitedAt: occurredAt })
    : changed(invitations, data.invitationId, (one) => ({ ...one, revokedAt: occurredAt }));

const withOriginEvent = (
  origins: AccountPast['origins'],
  { type, data, occurredAt }: Of<'BrowserOriginRegistered' | 'BrowserOriginRemoved'>,
): AccountPast['origins'] => {
  if (type === 'BrowserOriginRemoved')
    return changed(origins, data.originId, (one) => ({ ...one, removedAt: occurredAt }));
  const { originId, ...registered } = data;
  return withValue(origins, originId, { ...registered, registeredAt: occurredAt });
};

export const accountPast = {
  initialState: {
    account: { status: 'NONE' },
    keys: emptyMap,
    users: emptyMap,
    invitations: emptyMap,
    origins: emptyMap,
  } as AccountPast,
  evolve,
};

/** Estimated memory, in bytes, that an account's state does not share with the cached state before it. */
export const ACCOUNT_PAST_BYTES = 16_000;

/** Without its users, who have their own histories. */
export const accountMembers = ({ customerId, name, customerDomain, status, disabledAt }: OpenedAccount) => ({
  id: customerId,
  company: name,
  customerDomain,
  status,
  disabledAt,
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

/** Without the address, which no event contains. */
export const invitationMembers = (
  id: string,
  { role, invitedAt, acceptedBy, revokedAt }: KnownInvitation,
) => ({
  id,
  role,
  status: acceptedBy !== undefined ? 'ACCEPTED' : revokedAt !== undefined ? 'REVOKED' : 'OPEN',
  expiresAt: invitationEnd(invitedAt),
  createdAt: invitedAt,
  acceptedBy,
  revokedAt,
});

export const originMembers = (
  id: string,
  { origin, label, userId, registeredAt, removedAt }: KnownOrigin,
) => ({ id, origin, label, createdByUserId: userId, createdAt: registeredAt, removedAt });
