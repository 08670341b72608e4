import { emailKeyOf, localPartOf } from '../../domain/accounts/address.ts';
import { valueOf } from '../../domain/accounts/shared-map.ts';
import type { AcceptInvitationBody } from '../../domain/accounts/sign-in-input.ts';
import type { CommandContext } from '../../shared/aggregate/command-context.ts';
import { derivedId } from '../../shared/aggregate/ids.ts';
import { isoTimestamp } from '../../shared/async/clock.ts';
import { conflict } from '../../shared/http/errors.ts';
import type { RequestContext } from '../../shared/http/route.ts';
import { inTransaction } from '../../shared/postgres/pool.ts';
import { addedUserId, writeAddedUser } from './commands.ts';
import { accountRefused, loadAccount, runOnAccount, type AccountRows } from './handler.ts';
import { deleteInvitation, isTaken, type FindInvitation, type FoundInvitation } from './invitation-rows.ts';
import { announceAddress, claimAddress, type NewLogin, type UserKey } from './login-rows.ts';
import { removeUser } from './members.ts';
import { findLink, takeLink, unusableLink } from './one-time-links.ts';
import { refuseGuessable, type Passwords } from './passwords.ts';
import { startSession, type SessionWrites, type SignedIn } from './sessions.ts';

export interface AcceptWrites extends SessionWrites {
  readonly rows: AccountRows;
  readonly passwords: Passwords;
  readonly findInvitation: FindInvitation;
}

/**
 * The event comes first, and its command's id derives from the invitation: all requests of an invitation add one user.
 * One of them uses the link, in one transaction with the login. After a crash in between, the link still works.
 * @throws ApiError VALIDATION_ERROR for a link that was used or has ended, CONFLICT for a taken address
 */
export const acceptInvitation = async (
  writes: AcceptWrites,
  { token, name, password }: AcceptInvitationBody,
  request: RequestContext,
): Promise<SignedIn> => {
  const { pool, passwords } = writes;
  const { customerId, subject: invitationId } = await findLink(pool, 'invitation', token, request.commandId);
  if (invitationId === null) throw new Error('the link of an invitation names it');
  const context = contextOfInvitation(request, customerId, invitationId);
  const invitation = await writes.findInvitation({ customerId, invitationId });
  if (invitation !== undefined) await refuseUnacceptable(writes, invitation, password);
  // Before the event: if it fails, no user is added.
  const passwordHash = await passwords.hash(password);
  const userId = await addInvited(writes, invitation, { invitationId, name }, context);
  await refuseRemoved(writes, { customerId, userId });
  if (invitation !== undefined) {
    const { email } = invitation;
    const login = { customerId, userId, email, emailKey: emailKeyOf(email), passwordHash, isVerified: true };
    if (!(await logIn(writes, token, login, request))) {
      await removeUser(writes, userId, { ...context, commandId: derivedId(invitationId, 'taken') });
      throw taken();
    }
    await announceAddress(pool, login);
    await deleteInvitation(pool, invitation);
  }
  return startSession(writes, { customerId, userId }, 'invitation', request);
};

const contextOfInvitation = (
  { requestId, onEvents }: RequestContext,
  customerId: number,
  invitationId: string,
): CommandContext => ({
  commandId: derivedId(invitationId, 'accept'),
  customerId,
  actor: `invitation:${invitationId}`,
  requestId,
  onEvents,
});

const taken = () =>
  conflict('Another user has this address. Sign in, or ask for an invitation of another address.');

const refuseUnacceptable = async (
  writes: AcceptWrites,
  { customerId, invitationId, email, company }: FoundInvitation,
  password: string,
): Promise<void> => {
  refuseGuessable('password', password, { company, name: localPartOf(email) });
  const { state } = await loadAccount(writes, customerId);
  if (state.status !== 'OPEN') throw conflict('The account is disabled.');
  const isOpen = state.invitations[invitationId] !== undefined;
  if (isOpen && (await isTaken(writes.pool, emailKeyOf(email)))) throw taken();
};

/** An admin may have removed the user whom an earlier request added, but did not log in. */
const refuseRemoved = async (writes: AcceptWrites, { customerId, userId }: UserKey): Promise<void> => {
  const { state } = await loadAccount(writes, customerId);
  if (state.status === 'NONE' || valueOf(state.users, userId) === undefined) throw unusableLink('token');
};

/** @param invitation undefined: an earlier run of the request has accepted it */
const addInvited = async (
  writes: AcceptWrites,
  invitation: FoundInvitation | undefined,
  { invitationId, name }: { readonly invitationId: string; readonly name: string },
  context: CommandContext,
): Promise<string> => {
  const now = isoTimestamp(writes.clock.now());
  const outcome = await runOnAccount(writes, { type: 'AcceptInvitation', now, invitationId, name }, context);
  if (outcome.outcome === 'refused') {
    throw outcome.refusal.reason === 'no-such-invitation'
      ? unusableLink('token')
      : accountRefused(outcome.refusal);
  }
  if (invitation === undefined) return addedUserId(outcome);
  return writeAddedUser(writes, outcome, { name, role: invitation.role, addedAt: now });
};

/** @returns false if another user has claimed the address since it was checked */
const logIn = (
  { pool }: AcceptWrites,
  token: string,
  login: NewLogin,
  { commandId }: RequestContext,
): Promise<boolean> =>
  inTransaction(pool, async (client) => {
    await takeLink(client, 'invitation', token, commandId);
    return claimAddress(client, login);
  });
