import { accept, refuse, type Decision } from '../decision.ts';
import { scopesOfRole, type Role, type Scope } from './access.ts';
import {
  registerOrigin,
  removeOrigin,
  type OriginRefusal,
  type Origins,
  type RegisterOrigin,
  type RemoveOrigin,
} from './browser-origins.ts';
import { accountEvents, type AccountEvent, type PasswordSource } from './events.ts';
import {
  decideMembers,
  invitationsEnded,
  userIdOf,
  withInvitation,
  withoutInvitation,
  type MemberCommand,
  type MemberRefusal,
  type Members,
  type RemoveUser,
} from './members.ts';
import { emptyMap, valueOf, withoutKey, withValue, type SharedMap } from './shared-map.ts';

export const ACCOUNT = 'account';

export const accountStream = (customerId: number): string => `${ACCOUNT}-${customerId}`;

export const firstUserId = (customerId: number): string => userIdOf(customerId, 1);

/** No separate event records the first user. @param sellerId undefined for a buyer's account */
export const firstUser = (
  customerId: number,
  sellerId: number | undefined,
): { readonly userId: string; readonly name: string; readonly role: Role } => ({
  userId: firstUserId(customerId),
  ...(sellerId === undefined ? { name: 'Administrator', role: 'admin' } : { name: 'Seller', role: 'seller' }),
});

/** Lists show a revoked or expired key for this time, in days. The log keeps it. */
export const ENDED_KEYS_DAYS = 90;

/** Specification, Authentication, rule 7. */
const ACTIVE_KEYS_MAX = 100;

export interface IssuedKey {
  readonly name: string;
  readonly maskedKey: string;
  readonly userId: string;
  readonly scopes: readonly Scope[];
  readonly issuedAt: string;
  readonly expiresAt?: string | undefined;
}

/** What decides whether a sign-in event is new. */
export interface UserSignIn {
  readonly password?: boolean;
  readonly emailVerified?: boolean;
  readonly totp?: boolean;
}

export interface OpenedAccount extends Members {
  readonly status: 'OPEN' | 'DISABLED';
  readonly disabledAt?: string;
  readonly name: string;
  readonly customerDomain?: string | undefined;
  readonly origins: Origins;
  /** By user id, without users who never signed in. */
  readonly signIns: SharedMap<UserSignIn>;
  /** By id, without revoked keys. */
  readonly keys: Readonly<Record<string, IssuedKey>>;
}

export type Account = { readonly status: 'NONE' } | OpenedAccount;

const empty = { invitations: {}, origins: {}, signIns: emptyMap, keys: {} } as const;

const openedBy = ({ data }: Extract<AccountEvent, { type: 'AccountOpened' }>): OpenedAccount => {
  const { userId, role } = firstUser(data.customerId, data.sellerId);
  const users = withValue(emptyMap, userId, role);
  return { ...data, status: 'OPEN', users, usersAdded: 1, ...empty };
};

const evolve = (state: Account, event: AccountEvent): Account => {
  if (event.type === 'AccountOpened') return openedBy(event);
  if (state.status === 'NONE') return state;
  switch (event.type) {
    case 'AccountDisabled':
      return { ...state, status: 'DISABLED', disabledAt: event.occurredAt };
    case 'AccountEnabled': {
      const { disabledAt: _, ...rest } = state;
      return { ...rest, status: 'OPEN' };
    }
    case 'UserAdded':
      return withUser(state, event);
    case 'UserRoleChanged':
      return { ...state, users: withValue(state.users, event.data.userId, event.data.role) };
    case 'UserRemoved':
      return withoutUser(state, event.data.userId);
    case 'UserInvited':
      return { ...state, invitations: withInvitation(state.invitations, event) };
    case 'InvitationRevoked':
      return { ...state, invitations: withoutInvitation(state.invitations, event.data.invitationId) };
    case 'BrowserOriginRegistered':
      return { ...state, origins: { ...state.origins, [event.data.originId]: event.data.origin } };
    case 'BrowserOriginRemoved': {
      const { [event.data.originId]: _, ...origins } = state.origins;
      return { ...state, origins };
    }
    case 'ApiKeyIssued':
      return { ...state, keys: { ...state.keys, [event.data.keyId]: issuedKey(state, event) } };
    case 'ApiKeyRevoked': {
      const { [event.data.keyId]: _, ...keys } = state.keys;
      return { ...state, keys };
    }
    case 'EmailVerified':
      return withSignIn(state, event.data.userId, { emailVerified: true });
    case 'TotpEnabled':
      return withSignIn(state, event.data.userId, { totp: true });
    case 'TotpDisabled':
      return withSignIn(state, event.data.userId, { totp: false });
    case 'PasswordSet':
      return withSignIn(state, event.data.userId, { password: true });
    case 'LookupCodeUsed':
    case 'UserLinkIssued':
      return state;
    default:
      return (event satisfies never, state);
  }
};

const withUser = (
  state: OpenedAccount,
  { data }: Extract<AccountEvent, { type: 'UserAdded' }>,
): OpenedAccount => {
  const { userId, role, invitationId } = data;
  const { invitations } = state;
  return {
    ...state,
    users: withValue(state.users, userId, role),
    usersAdded: state.usersAdded + 1,
    invitations: invitationId === undefined ? invitations : withoutInvitation(invitations, invitationId),
  };
};

const withoutUser = (state: OpenedAccount, userId: string): OpenedAccount => ({
  ...state,
  users: withoutKey(state.users, userId),
  signIns: withoutKey(state.signIns, userId),
});

const withSignIn = (state: OpenedAccount, userId: string, change: UserSignIn): OpenedAccount => ({
  ...state,
  signIns: withValue(state.signIns, userId, { ...valueOf(state.signIns, userId), ...change }),
});

type ApiKeyIssued = Extract<AccountEvent, { type: 'ApiKeyIssued' }>;

const issuedKey = ({ customerId, users }: OpenedAccount, { data, occurredAt }: ApiKeyIssued): IssuedKey => {
  const { keyId: _, userId = firstUserId(customerId), ...rest } = data;
  return {
    ...rest,
    userId,
    scopes: data.scopes ?? scopesOfRole(valueOf(users, userId) ?? 'member'),
    issuedAt: occurredAt,
  };
};

export interface OpenAccount {
  readonly type: 'OpenAccount';
  readonly now: string;
  readonly customerId: number;
  readonly name: string;
  readonly sellerId?: number | undefined;
  readonly customerDomain?: string | undefined;
  readonly firstKey?: { readonly keyId: string; readonly name: string; readonly maskedKey: string };
  /** The first user has one after a sign-up. */
  readonly firstPassword?: { readonly emailVerified: boolean };
}

export interface SetAccess {
  readonly type: 'DisableAccount' | 'EnableAccount';
  readonly now: string;
}

export interface IssueApiKey {
  readonly type: 'IssueApiKey';
  readonly now: string;
  readonly keyId: string;
  readonly name: string;
  readonly maskedKey: string;
  readonly userId: string;
  readonly scopes?: readonly Scope[] | undefined;
  readonly expiresAt?: string | undefined;
}

export interface RevokeApiKey {
  readonly type: 'RevokeApiKey';
  readonly now: string;
  readonly keyId: string;
}

export interface SetPassword {
  readonly type: 'SetPassword';
  readonly now: string;
  readonly userId: string;
  readonly by: PasswordSource;
}

export interface ChangeSignIn {
  readonly type: 'EnableTotp' | 'DisableTotp' | 'UseLookupCode' | 'IssueUserLink';
  readonly now: string;
  readonly userId: string;
}

export type AccountCommand =
  | OpenAccount
  | SetAccess
  | MemberCommand
  | RegisterOrigin
  | RemoveOrigin
  | IssueApiKey
  | RevokeApiKey
  | SetPassword
  | ChangeSignIn;

export type AccountRefusal =
  | { readonly reason: 'already-open' }
  | { readonly reason: 'no-such-account' }
  | MemberRefusal
  | OriginRefusal
  | { readonly reason: 'expires-in-the-past' }
  | { readonly reason: 'scope-beyond-role'; readonly scope: Scope }
  | { readonly reason: 'too-many-keys'; readonly limit: number; readonly active: number };

type AccountDecision = Decision<AccountEvent, AccountRefusal>;

const openAccount = (command: OpenAccount): AccountDecision => {
  const { now: occurredAt, customerId, name, sellerId, customerDomain, firstKey, firstPassword } = command;
  const { userId, role } = firstUser(customerId, sellerId);
  const data = {
    customerId,
    name,
    ...(sellerId === undefined ? {} : { sellerId }),
    ...(customerDomain === undefined ? {} : { customerDomain }),
  };
  const events: AccountEvent[] = [{ type: 'AccountOpened', data, occurredAt }];
  if (firstKey !== undefined) {
    const key = { ...firstKey, userId, scopes: [...scopesOfRole(role)] };
    events.push({ type: 'ApiKeyIssued', data: key, occurredAt });
  }
  if (firstPassword !== undefined) {
    events.push({ type: 'PasswordSet', data: { userId, by: 'sign-up' }, occurredAt });
    if (firstPassword.emailVerified) events.push({ type: 'EmailVerified', data: { userId }, occurredAt });
  }
  return accept(...events);
};

const setAccess = ({ type, now: occurredAt }: SetAccess, { status }: OpenedAccount): AccountDecision => {
  if (type === 'DisableAccount') {
    return status === 'DISABLED' ? accept() : accept({ type: 'AccountDisabled', data: {}, occurredAt });
  }
  return status === 'OPEN' ? accept() : accept({ type: 'AccountEnabled', data: {}, occurredAt });
};

/** In the same append, so that no key counts against the limit without its user. */
const removeUser = (command: RemoveUser, state: OpenedAccount): AccountDecision => {
  const decision = decideMembers(command, state);
  if ('refused' in decision) return decision;
  return accept(...decision.events, ...accessEnded(state, command));
};

/** What a user has given access with, besides the password. OAuth grants have separate streams. */
const accessEnded = (
  state: OpenedAccount,
  { userId, now }: Pick<RemoveUser, 'userId' | 'now'>,
): readonly AccountEvent[] => {
  const keys = Object.entries(state.keys).filter(([, key]) => key.userId === userId);
  return [...keys.map(([keyId]) => keyRevoked(keyId, now)), ...invitationsEnded(state, userId, now)];
};

const keyRevoked = (keyId: string, occurredAt: string): AccountEvent => ({
  type: 'ApiKeyRevoked',
  data: { keyId },
  occurredAt,
});

const issueApiKey = (command: IssueApiKey, state: OpenedAccount): AccountDecision => {
  const { now: occurredAt, keyId, name, maskedKey, userId, expiresAt } = command;
  const role = valueOf(state.users, userId);
  if (role === undefined) return refuse({ reason: 'no-such-user' });
  const allowed = scopesOfRole(role);
  const scopes = command.scopes ?? allowed;
  const beyond = scopes.find((scope) => !allowed.includes(scope));
  if (beyond !== undefined) return refuse({ reason: 'scope-beyond-role', scope: beyond });
  if (expiresAt !== undefined && expiresAt <= occurredAt) return refuse({ reason: 'expires-in-the-past' });
  const active = Object.values(state.keys).filter((key) => isActive(key, occurredAt)).length;
  if (active >= ACTIVE_KEYS_MAX) return refuse({ reason: 'too-many-keys', limit: ACTIVE_KEYS_MAX, active });
  const data = { keyId, name, maskedKey, userId, scopes: [...scopes] };
  return accept({
    type: 'ApiKeyIssued',
    data: expiresAt === undefined ? data : { ...data, expiresAt },
    occurredAt,
  });
};

const isActive = ({ expiresAt }: IssuedKey, now: string): boolean =>
  expiresAt === undefined || expiresAt > now;

const revokeApiKey = ({ now: occurredAt, keyId }: RevokeApiKey, { keys }: OpenedAccount): AccountDecision =>
  keys[keyId] === undefined ? accept() : accept(keyRevoked(keyId, occurredAt));

/**
 * A reset proves who has the address. Until then another person may have signed up with it: the first proof ends what
 * that person has given access with.
 */
const setPassword = (command: SetPassword, state: OpenedAccount): AccountDecision => {
  const { now: occurredAt, userId, by } = command;
  const set = { type: 'PasswordSet', data: { userId, by }, occurredAt } as const;
  if (by !== 'reset' || valueOf(state.signIns, userId)?.emailVerified === true) return accept(set);
  return accept(set, { type: 'EmailVerified', data: { userId }, occurredAt }, ...accessEnded(state, command));
};

const changeSignIn = (
  { type, now: occurredAt, userId }: ChangeSignIn,
  { signIns }: OpenedAccount,
): AccountDecision => {
  const { totp = false } = valueOf(signIns, userId) ?? {};
  const data = { userId };
  switch (type) {
    case 'EnableTotp':
      return totp ? accept() : accept({ type: 'TotpEnabled', data, occurredAt });
    case 'DisableTotp':
      return totp ? accept({ type: 'TotpDisabled', data, occurredAt }) : accept();
    case 'UseLookupCode':
      return accept({ type: 'LookupCodeUsed', data, occurredAt });
    case 'IssueUserLink':
      return accept({ type: 'UserLinkIssued', data, occurredAt });
    default:
      return type satisfies never;
  }
};

const decide = (command: AccountCommand, state: Account): AccountDecision => {
  if (command.type === 'OpenAccount') {
    return state.status === 'NONE' ? openAccount(command) : refuse({ reason: 'already-open' });
  }
  if (state.status === 'NONE') return refuse({ reason: 'no-such-account' });
  switch (command.type) {
    case 'DisableAccount':
    case 'EnableAccount':
      return setAccess(command, state);
    case 'RemoveUser':
      return removeUser(command, state);
    case 'AddUser':
    case 'AcceptInvitation':
    case 'ChangeRole':
    case 'InviteUser':
    case 'RevokeInvitation':
      return decideMembers(command, state);
    case 'RegisterOrigin':
      return registerOrigin(command, state.origins);
    case 'RemoveOrigin':
      return removeOrigin(command, state.origins);
    case 'IssueApiKey':
      return issueApiKey(command, state);
    case 'RevokeApiKey':
      return revokeApiKey(command, state);
    case 'SetPassword':
    case 'EnableTotp':
    case 'DisableTotp':
    case 'UseLookupCode':
    case 'IssueUserLink':
      if (valueOf(state.users, command.userId) === undefined) return refuse({ reason: 'no-such-user' });
      return command.type === 'SetPassword' ? setPassword(command, state) : changeSignIn(command, state);
    default:
      return command satisfies never;
  }
};

export const accountAggregate = {
  category: ACCOUNT,
  stream: accountStream,
  events: accountEvents,
  initialState: { status: 'NONE' } as const,
  evolve,
  decide,
};
