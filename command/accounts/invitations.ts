import type { Pool } from 'pg';
import type { Role } from '../../domain/accounts/access.ts';
import { emailKeyOf } from '../../domain/accounts/address.ts';
import { invitationEnd, type InviteUser } from '../../domain/accounts/members.ts';
import type { InvitationResource } from '../../domain/accounts/resource.ts';
import type { CommandContext } from '../../shared/aggregate/command-context.ts';
import { derivedId } from '../../shared/aggregate/ids.ts';
import { isoTimestamp } from '../../shared/async/clock.ts';
import { conflict } from '../../shared/http/errors.ts';
import { inTransaction } from '../../shared/postgres/pool.ts';
import type { KeyRing } from '../../shared/secrets/key-ring.ts';
import type { LinkTokenOf } from '../workers/mail/link-token.ts';
import { requestMail } from '../workers/mail/request-mail.ts';
import type { AdmitInvitation } from './admit-invitation.ts';
import {
  accountOf,
  accountRefused,
  refuseOnAccount,
  runOnAccount,
  type InstallationWrites,
} from './handler.ts';
import {
  announceInvitation,
  deleteInvitation,
  insertInvitation,
  invitationResource,
  isMembersAddress,
  type InvitationKey,
} from './invitation-rows.ts';
import { insertLink } from './one-time-links.ts';

export interface InvitationWrites extends InstallationWrites {
  readonly pool: Pool;
  readonly keys: () => Promise<KeyRing>;
  readonly linkTokenOf: LinkTokenOf;
  /** Undefined: for the operator, without a limit. */
  readonly admit?: AdmitInvitation;
}

export interface NewInvitation {
  readonly email: string;
  readonly role: Role;
  /** Undefined: the operator. */
  readonly invitedBy?: string | undefined;
}

export interface SentInvitation {
  readonly invitation: InvitationResource;
  readonly token: string;
}

/**
 * The row comes first, because no event contains the address. It is announced after the event, in one transaction with
 * the link and the mail; after a crash, a repeat or the sweep does it (`settle-invitations.ts`).
 * @throws ApiError CONFLICT for a member's address, or at the limit of 100; RATE_LIMITED
 */
export const invite = async (
  writes: InvitationWrites,
  { email, role, invitedBy }: NewInvitation,
  context: CommandContext,
): Promise<SentInvitation> => {
  const { pool, clock } = writes;
  const { customerId, commandId, requestId, correlationId = requestId, hasRunBefore } = context;
  const invitationId = derivedId(commandId, 'invitation');
  const now = isoTimestamp(clock.now());
  const command = { type: 'InviteUser', now, invitationId, role, invitedBy } as const;
  if ((await hasRunBefore?.()) === false) await admit(writes, emailKeyOf(email), command, customerId);
  const invitation = { customerId, invitationId, email, role, invitedBy, createdAt: now };
  await insertInvitation(pool, { ...invitation, expiresAt: invitationEnd(now) });
  const outcome = await runOnAccount(writes, command, context);
  if (outcome.outcome === 'refused') {
    await deleteInvitation(pool, invitation);
    throw accountRefused(outcome.refusal);
  }
  const { invitedAt: createdAt = now } = accountOf(outcome).invitations[invitationId] ?? {};
  const expiresAt = invitationEnd(createdAt);
  const token = await announce(writes, invitation, expiresAt, correlationId);
  return { invitation: invitationResource({ ...invitation, createdAt, expiresAt }), token };
};

/** Counts it only if it would be accepted: a refused request sends no mail. */
const admit = async (
  writes: InvitationWrites,
  emailKey: string,
  command: InviteUser,
  customerId: number,
): Promise<void> => {
  if (await isMembersAddress(writes.pool, customerId, emailKey))
    throw conflict('A member of the account has this address.', 'email');
  if (writes.admit === undefined) return;
  await refuseOnAccount(writes, command, customerId);
  await writes.admit(customerId, emailKey);
};

/** One transaction: an announced invitation has its link, and its mail is sent. */
export const announce = async (
  { pool, clock, keys, linkTokenOf }: InvitationWrites,
  invitation: InvitationKey,
  expiresAt: string,
  correlationId?: string,
): Promise<string> => {
  const { customerId, invitationId } = invitation;
  const token = await linkTokenOf(invitationId);
  await inTransaction(pool, async (client) => {
    if (!(await announceInvitation(client, invitation))) return;
    const validMs = Math.max(0, Date.parse(expiresAt) - clock.now());
    await insertLink(client, token, { purpose: 'invitation', customerId, subject: invitationId, validMs });
    const request = { type: 'invitation' };
    await requestMail(client, keys, { customerId, mailId: invitationId, request, correlationId });
  });
  return token;
};

/** The event comes first: it decides. After a crash in between, the row is still listed, and a repeat deletes it. */
export const revokeInvitation = async (
  writes: InvitationWrites,
  invitationId: string,
  context: CommandContext,
): Promise<void> => {
  const { pool, clock } = writes;
  const { customerId } = context;
  const now = isoTimestamp(clock.now());
  const outcome = await runOnAccount(writes, { type: 'RevokeInvitation', now, invitationId }, context);
  const hadRow = await deleteInvitation(pool, { customerId, invitationId });
  if (outcome.outcome === 'refused' && !hadRow) throw accountRefused(outcome.refusal);
};
