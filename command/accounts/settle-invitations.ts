import { invitationEnd } from '../../domain/accounts/members.ts';
import type { Purgeable } from '../../shared/async/purge-regularly.ts';
import { oldRows } from '../../shared/postgres/old-rows.ts';
import { createSweep } from '../../shared/work-list/sweep.ts';
import { loadAccount } from './handler.ts';
import { deleteInvitation, unannouncedInvitations, type UnannouncedInvitation } from './invitation-rows.ts';
import { announce, type InvitationWrites } from './invitations.ts';

/** An expired invitation is listed for this time. */
const EXPIRED_DAYS = 7;

export const invitationHousekeeping = (writes: InvitationWrites) =>
  ({
    'unsent invitations': createSweep<UnannouncedInvitation>({
      find: (after, rowsMax) => unannouncedInvitations(writes.pool, after, rowsMax),
      work: (invitation) => settle(writes, invitation),
    }),
    invitations: oldRows(writes.pool, 'invitations', { column: 'expires_at', days: EXPIRED_DAYS }),
  }) satisfies Readonly<Record<string, Purgeable>>;

/** With its event, the invitation is sent. Without one, a repeat of the command may still come, for a while. */
const settle = async (writes: InvitationWrites, invitation: UnannouncedInvitation): Promise<void> => {
  const { state } = await loadAccount(writes, invitation.customerId);
  const open = state.status === 'NONE' ? undefined : state.invitations[invitation.invitationId];
  if (open !== undefined) await announce(writes, invitation, invitationEnd(open.invitedAt));
  else if (invitation.isOld) await deleteInvitation(writes.pool, invitation);
};
