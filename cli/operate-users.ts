import { contextOf } from '../command/accounts/commands.ts';
import { invite, type SentInvitation } from '../command/accounts/invitations.ts';
import { changeRole, removeMember } from '../command/accounts/members.ts';
import { removeTotp } from '../command/accounts/two-factor.ts';
import { issueUserLink, type UserLink } from '../command/accounts/user-link.ts';
import { createLinkTokenOf } from '../command/workers/mail/link-token.ts';
import type { Role } from '../domain/accounts/access.ts';
import type { MemberResource } from '../domain/accounts/resource.ts';
import { endGrantsIn } from '../app/end-grants.ts';
import type { Installation } from '../app/installation.ts';
import { listMembers } from '../query/accounts/members.ts';
import { ApiError } from '../shared/http/errors.ts';
import { requireAccount, writesOf } from './operate-accounts.ts';

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
): Promise<SentInvitation> => {
  const { keys } = installation;
  const writes = { ...writesOf(installation), keys, linkTokenOf: createLinkTokenOf(keys) };
  return invite(writes, person, contextOf(customerId));
};

/** For the command line: with the ids that the operator gave. */
const ofUser = async <Result>(
  installation: Installation,
  { customerId, userId }: UserKey,
  run: (writes: ReturnType<typeof writesOf>) => Promise<Result>,
): Promise<Result> => {
  await requireAccount(installation, customerId);
  return run(writesOf(installation)).catch((error: unknown) => {
    throw error instanceof ApiError && error.body.code === 'NOT_FOUND'
      ? new Error(`Account ${customerId} has no user ${userId}.`)
      : error;
  });
};

export const setRole = (installation: Installation, user: UserKey, role: Role): Promise<void> =>
  ofUser(installation, user, (writes) =>
    changeRole(writes, { userId: user.userId, role }, contextOf(user.customerId)),
  );

export const removeUser = (installation: Installation, user: UserKey): Promise<void> =>
  ofUser(installation, user, (writes) =>
    removeMember(
      { ...writes, endGrants: endGrantsIn(installation) },
      user.userId,
      contextOf(user.customerId),
    ),
  );

export const issueLink = (installation: Installation, user: UserKey): Promise<UserLink> =>
  ofUser(installation, user, (writes) => issueUserLink(writes, user.userId, contextOf(user.customerId)));

export const disableSecondFactor = (installation: Installation, user: UserKey): Promise<void> =>
  ofUser(installation, user, (writes) =>
    removeTotp({ ...writes, secrets: installation.secrets }, user, contextOf(user.customerId)),
  );
