import { contextOf } from '../command/accounts/commands.ts';
import { invite, type Invited } from '../command/accounts/invitations.ts';
import { changeRole, removeMember } from '../command/accounts/members.ts';
import { removeTotp } from '../command/accounts/two-factor.ts';
import { issueUserLink, type UserLink } from '../command/accounts/user-link.ts';
import { createLinkTokenOf } from '../command/workers/mail/link-token.ts';
import type { Role } from '../domain/accounts/access.ts';
import type { MemberResource } from '../domain/accounts/resource.ts';
import { endGrantsIn } from '../app/end-grants.ts';
import type { Installation } from '../app/installation.ts';
import { listMembers } from '../query/accounts/members.ts';
import { writesOf } from './operate-accounts.ts';

interface UserKey {
  readonly customerId: number;
  readonly userId: string;
}

export async function* listUsers(
  installation: Installation,
  customerId: number,
): AsyncGenerator<MemberResource> {
  const { database } = writesOf(installation);
  const PAGE = 200;
  for (let skip = 0; ; skip += PAGE) {
    const { members, total } = await listMembers(database, customerId, { skip, take: PAGE });
    yield* members;
    if (skip + PAGE >= total) return;
  }
}

export const inviteUser = (
  installation: Installation,
  customerId: number,
  person: { readonly email: string; readonly role: Role },
): Promise<Invited> => {
  const { keys } = installation;
  const writes = { ...writesOf(installation), keys, linkTokenOf: createLinkTokenOf(keys) };
  return invite(writes, person, contextOf(customerId));
};

export const setRole = (
  installation: Installation,
  { customerId, userId }: UserKey,
  role: Role,
): Promise<void> => changeRole(writesOf(installation), { userId, role }, contextOf(customerId));

export const removeUser = (installation: Installation, { customerId, userId }: UserKey): Promise<void> =>
  removeMember(
    { ...writesOf(installation), endGrants: endGrantsIn(installation) },
    userId,
    contextOf(customerId),
  );

export const issueLink = (installation: Installation, { customerId, userId }: UserKey): Promise<UserLink> =>
  issueUserLink(writesOf(installation), userId, contextOf(customerId));

export const disableSecondFactor = (installation: Installation, user: UserKey): Promise<void> =>
  removeTotp({ ...writesOf(installation), secrets: installation.secrets }, user, contextOf(user.customerId));
