import { randomUUID } from 'node:crypto';
import type { Role } from '../../domain/accounts/access.ts';
import { writeAccess, writeUsers } from '../../shared/auth/account-rows.ts';
import { isoTimestamp } from '../../shared/async/clock.ts';
import { accountOf, loadAccount, runOnAccount, type InstallationWrites } from './account-writes.ts';

const contextOf = (customerId: number) => {
  const commandId = randomUUID();
  return { commandId, customerId, actor: 'operator', requestId: commandId };
};

/**
 * Disables an account or enables it again. The stream decides, the row follows it: two commands at the same moment
 * may write it in any order, and it says what the stream says (`writeAccess`). Answered only once the row is
 * written; cut off before that, the read model of credentials writes it.
 * @throws ApiError NOT_FOUND
 */
export const setAccountAccess = async (
  writes: InstallationWrites,
  customerId: number,
  access: 'disabled' | 'enabled',
): Promise<void> => {
  const now = isoTimestamp(writes.clock.now());
  const type = access === 'disabled' ? 'DisableAccount' : 'EnableAccount';
  accountOf(await runOnAccount(writes.store, { type, now }, contextOf(customerId)));
  await settleAccess(writes, customerId);
};

/** Also when nothing was decided: the row of an earlier command may be missing. */
const settleAccess = async ({ store, pool }: InstallationWrites, customerId: number): Promise<void> => {
  const { state, revision } = await loadAccount(store, customerId);
  if (state.status === 'NONE' || typeof revision !== 'number') return;
  await writeAccess(pool, [{ customerId, revision, disabledAt: state.disabledAt ?? null }]);
};

/**
 * Adds a user to an account. Cut off between event and row, the read model of credentials writes the row: the user
 * is there (`accounts list`) although nobody was told.
 * @returns the user's id
 * @throws ApiError NOT_FOUND when there is no such account
 */
export const addUser = async (
  { store, pool, clock }: InstallationWrites,
  customerId: number,
  user: { readonly name: string; readonly role: Role },
): Promise<string> => {
  const now = isoTimestamp(clock.now());
  const command = { type: 'AddUser', now, ...user } as const;
  const { users } = accountOf(await runOnAccount(store, command, contextOf(customerId)));
  const userId = Object.keys(users).at(-1);
  if (userId === undefined) throw new Error('a user that was added is in the account');
  await writeUsers(pool, [{ customerId, userId, ...user }]);
  return userId;
};
