import type { Role } from '../../domain/accounts/access.ts';
import { isoTimestamp } from '../../shared/clock.ts';
import { randomId } from '../../shared/ids.ts';
import { accountRefused } from './account-refusals.ts';
import { runOnAccount, type InstallationWrites } from './account-writes.ts';

const contextOf = (customerId: number) => {
  const commandId = randomId();
  return { commandId, customerId, actor: 'operator', requestId: commandId };
};

/**
 * Disables an account or enables it again. What refuses is written first when it closes, and last when it opens:
 * an account that was reported disabled never lets anybody in.
 * @throws ApiError NOT_FOUND
 */
export const setAccountAccess = async (
  { store, pool, clock }: InstallationWrites,
  customerId: number,
  access: 'disabled' | 'enabled',
): Promise<void> => {
  const now = isoTimestamp(clock.now());
  const write = async (disabledAt: string | null): Promise<void> => {
    await pool.query('update accounts set disabled_at = $2 where customer_id = $1', [customerId, disabledAt]);
  };
  if (access === 'disabled') await write(now);
  const type = access === 'disabled' ? 'DisableAccount' : 'EnableAccount';
  const outcome = await runOnAccount(store, { type, now }, contextOf(customerId));
  if (outcome.outcome === 'refused') throw accountRefused(outcome.refusal);
  if (access === 'enabled') await write(null);
};

/**
 * Adds a user to an account.
 * @returns the user's id
 * @throws ApiError NOT_FOUND when there is no such account
 */
export const addUser = async (
  { store, pool, clock }: InstallationWrites,
  customerId: number,
  user: { readonly name: string; readonly role: Role },
): Promise<string> => {
  const now = isoTimestamp(clock.now());
  const outcome = await runOnAccount(store, { type: 'AddUser', now, ...user }, contextOf(customerId));
  if (outcome.outcome === 'refused') throw accountRefused(outcome.refusal);
  const userId = outcome.state.status === 'NONE' ? undefined : Object.keys(outcome.state.users).at(-1);
  if (userId === undefined) throw new Error('a user that was added is in the account');
  await pool.query(
    'insert into users (customer_id, user_id, name, role) values ($1, $2, $3, $4) on conflict do nothing',
    [customerId, userId, user.name, user.role],
  );
  return userId;
};
