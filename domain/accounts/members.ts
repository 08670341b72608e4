import { accept, refuse, type Decision } from '../decision.ts';
import type { Role } from './access.ts';
import type { AccountEvent } from './events.ts';
import { entriesOf, valueOf, type SharedMap } from './shared-map.ts';

/** In an account. Others were revoked, accepted, or have expired. */
const INVITATIONS_OPEN_MAX = 100;

const INVITATION_DAYS = 7;

const DAY_MS = 86_400_000;

export const invitationEnd = (invitedAt: string): string =>
  new Date(Date.parse(invitedAt) + INVITATION_DAYS * DAY_MS).toISOString();

export interface OpenInvitation {
  readonly role: Role;
  readonly invitedAt: string;
  /** Undefined: the operator. */
  readonly invitedBy?: string | undefined;
}

const isOpen = ({ invitedAt }: OpenInvitation, now: string): boolean => invitationEnd(invitedAt) > now;

export interface Members {
  readonly customerId: number;
  readonly sellerId?: number | undefined;
  /** Without removed users. */
  readonly users: SharedMap<Role>;
  /** Includes removed users: an id is never given twice. */
  readonly usersAdded: number;
  readonly invitations: Readonly<Record<string, OpenInvitation>>;
}

export const userIdOf = (customerId: number, number: number): string => `${customerId}-${number}`;

export const withInvitation = (
  invitations: Members['invitations'],
  { data, occurredAt }: Extract<AccountEvent, { type: 'UserInvited' }>,
): Members['invitations'] => {
  const open = Object.entries(invitations).filter(([, one]) => isOpen(one, occurredAt));
  const { invitationId, ...rest } = data;
  return { ...Object.fromEntries(open), [invitationId]: { ...rest, invitedAt: occurredAt } };
};

export const withoutInvitation = (
  invitations: Members['invitations'],
  id: string,
): Members['invitations'] => {
  const { [id]: _, ...others } = invitations;
  return others;
};

export interface AddUser {
  readonly type: 'AddUser';
  readonly now: string;
  readonly name: string;
  readonly role: Role;
}

export interface AcceptInvitation {
  readonly type: 'AcceptInvitation';
  readonly now: string;
  readonly invitationId: string;
  readonly name: string;
}

export interface ChangeRole {
  readonly type: 'ChangeRole';
  readonly now: string;
  readonly userId: string;
  readonly role: Role;
}

export interface RemoveUser {
  readonly type: 'RemoveUser';
  readonly now: string;
  readonly userId: string;
}

export interface InviteUser {
  readonly type: 'InviteUser';
  readonly now: string;
  readonly invitationId: string;
  readonly role: Role;
  /** Undefined: the operator. */
  readonly invitedBy?: string | undefined;
}

export interface RevokeInvitation {
  readonly type: 'RevokeInvitation';
  readonly now: string;
  readonly invitationId: string;
}

export type MemberCommand =
  AddUser | AcceptInvitation | ChangeRole | RemoveUser | InviteUser | RevokeInvitation;

export type MemberRefusal =
  | { readonly reason: 'no-such-user' }
  | { readonly reason: 'no-such-invitation' }
  | { readonly reason: 'role-of-other-accounts'; readonly isSellers: boolean }
  | { readonly reason: 'last-admin'; readonly role: Role }
  | { readonly reason: 'too-many-invitations'; readonly limit: number; readonly active: number };

type MemberDecision = Decision<AccountEvent, MemberRefusal>;

export const decideMembers = (command: MemberCommand, members: Members): MemberDecision => {
  switch (command.type) {
    case 'AddUser':
      return addUser(command, members);
    case 'AcceptInvitation':
      return acceptInvitation(command, members);
    case 'ChangeRole':
      return changeRole(command, members);
    case 'RemoveUser':
      return removeUser(command, members);
    case 'InviteUser':
      return inviteUser(command, members);
    case 'RevokeInvitation':
      return revokeInvitation(command, members);
    default:
      return command satisfies never;
  }
};

const addUser = ({ now: occurredAt, name, role }: AddUser, members: Members): MemberDecision =>
  foreignRole(role, members) ??
  accept({ type: 'UserAdded', data: { userId: nextUserId(members), name, role }, occurredAt });

const nextUserId = ({ customerId, usersAdded }: Members): string => userIdOf(customerId, usersAdded + 1);

/** A credential that reviews other accounts' creatives must not be able to buy, and the reverse. */
const foreignRole = (role: Role, { sellerId }: Members) => {
  const isSellers = sellerId !== undefined;
  return (role === 'seller') === isSellers
    ? undefined
    : refuse({ reason: 'role-of-other-accounts', isSellers } as const);
};

const acceptInvitation = (
  { now: occurredAt, invitationId, name }: AcceptInvitation,
  members: Members,
): MemberDecision => {
  const { [invitationId]: invitation } = members.invitations;
  if (invitation === undefined || !isOpen(invitation, occurredAt))
    return refuse({ reason: 'no-such-invitation' });
  const { role } = invitation;
  const userId = nextUserId(members);
  return accept(
    { type: 'UserAdded', data: { userId, name, role, invitationId }, occurredAt },
    { type: 'PasswordSet', data: { userId, by: 'invitation' }, occurredAt },
    { type: 'EmailVerified', data: { userId }, occurredAt },
  );
};

const changeRole = ({ now: occurredAt, userId, role }: ChangeRole, members: Members): MemberDecision => {
  const before = valueOf(members.users, userId);
  if (before === undefined) return refuse({ reason: 'no-such-user' });
  if (before === role) return accept();
  return (
    foreignRole(role, members) ??
    lastOfAccount(before, members) ??
    accept({ type: 'UserRoleChanged', data: { userId, role }, occurredAt })
  );
};

/** Without one, only the operator could add users. In a seller's account every user has the role seller. */
const lastOfAccount = (role: Role, { users }: Members) => {
  if (role === 'member') return undefined;
  const others = entriesOf(users).filter(([, one]) => one === role).length - 1;
  return others > 0 ? undefined : refuse({ reason: 'last-admin', role } as const);
};

const removeUser = ({ now: occurredAt, userId }: RemoveUser, members: Members): MemberDecision => {
  const role = valueOf(members.users, userId);
  if (role === undefined) return refuse({ reason: 'no-such-user' });
  return lastOfAccount(role, members) ?? accept({ type: 'UserRemoved', data: { userId }, occurredAt });
};

/** Their links must not outlive the right of the user who sent them. */
export const invitationsEnded = (
  { invitations }: Members,
  userId: string,
  occurredAt: string,
): readonly AccountEvent[] =>
  Object.entries(invitations)
    .filter(([, one]) => one.invitedBy === userId)
    .map(([invitationId]) => invitationRevoked(invitationId, occurredAt));

const invitationRevoked = (invitationId: string, occurredAt: string): AccountEvent => ({
  type: 'InvitationRevoked',
  data: { invitationId },
  occurredAt,
});

const inviteUser = (
  { now: occurredAt, invitationId, role, invitedBy }: InviteUser,
  members: Members,
): MemberDecision => {
  const { invitations, users } = members;
  if (invitedBy !== undefined && valueOf(users, invitedBy) === undefined)
    return refuse({ reason: 'no-such-user' });
  const active = Object.values(invitations).filter((one) => isOpen(one, occurredAt)).length;
  if (active >= INVITATIONS_OPEN_MAX)
    return refuse({ reason: 'too-many-invitations', limit: INVITATIONS_OPEN_MAX, active });
  const data = { invitationId, role, ...(invitedBy !== undefined && { invitedBy }) };
  return foreignRole(role, members) ?? accept({ type: 'UserInvited', data, occurredAt });
};

const revokeInvitation = (
  { now: occurredAt, invitationId }: RevokeInvitation,
  { invitations }: Members,
): MemberDecision =>
  Object.hasOwn(invitations, invitationId)
    ? accept(invitationRevoked(invitationId, occurredAt))
    : refuse({ reason: 'no-such-invitation' });
