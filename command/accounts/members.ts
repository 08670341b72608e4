import type { Role } from '../../domain/accounts/access.ts';
import type { CommandContext } from '../../shared/aggregate/command-context.ts';
import { isoTimestamp } from '../../shared/async/clock.ts';
import { accountOf, revisionOf, runOnAccount } from './handler.ts';
import type { RowWrites } from './commands.ts';

/**
 * The row decides about the next request of the user's credentials. It follows the event, because the stream decides
 * which admin is the last one. After a crash in between, the read model writes it; the caller has no answer yet.
 * @throws ApiError NOT_FOUND, or CONFLICT for the last admin
 */
export const changeRole = async (
  writes: RowWrites,
  { userId, role }: { readonly userId: string; readonly role: Role },
  context: CommandContext,
): Promise<void> => {
  const now = isoTimestamp(writes.clock.now());
  const outcome = await runOnAccount(writes, { type: 'ChangeRole', now, userId, role }, context);
  const { customerId } = accountOf(outcome);
  await writes.rows.writeRoles([{ customerId, userId, role, revision: revisionOf(outcome) }]);
};

/** The order is the same as for a change of role. Removing a removed user is `NOT_FOUND`. */
export const removeUser = async (
  writes: RowWrites,
  userId: string,
  context: CommandContext,
): Promise<void> => {
  const now = isoTimestamp(writes.clock.now());
  const outcome = await runOnAccount(writes, { type: 'RemoveUser', now, userId }, context);
  const { customerId } = accountOf(outcome);
  await writes.rows.removeUsers([{ customerId, userId, revision: revisionOf(outcome), removedAt: now }]);
};

export interface MemberWrites extends RowWrites {
  readonly endGrants: (userId: string, context: CommandContext) => Promise<void>;
}

/** Without a role, no token of the user is accepted: after a crash in between, the grants are only still listed. */
export const removeMember = async (
  writes: MemberWrites,
  userId: string,
  context: CommandContext,
): Promise<void> => {
  await removeUser(writes, userId, context);
  await writes.endGrants(userId, context);
};
