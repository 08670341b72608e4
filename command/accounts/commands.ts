import { randomUUID } from 'node:crypto';
import type { Role } from '../../domain/accounts/access.ts';
import type { CommandContext } from '../../shared/aggregate/command-context.ts';
import { isoTimestamp } from '../../shared/async/clock.ts';
import { notFound } from '../../shared/http/errors.ts';
import { revokeKeyRow } from './key-rows.ts';
import {
  accountOf,
  loadAccount,
  runOnAccount,
  type AccountRows,
  type AccountWrites,
  type InstallationWrites,
} from './load.ts';

type RowWrites = Pick<InstallationWrites, 'store' | 'clock'> & { readonly rows: AccountRows };

/** The origin of a command of the operator. */
export const contextOf = (customerId: number) => {
  const commandId = randomUUID();
  return { commandId, customerId, actor: 'operator', requestId: commandId };
};

/**
 * Disables or re-enables an account. The stream decides. Two concurrent commands may write the row in any order,
 * because `writeAccess` keeps the state of the higher revision. If the process dies before it writes the row, the
 * credentials read model does.
 * @throws ApiError NOT_FOUND
 */
export const setAccountAccess = async (
  writes: RowWrites,
  customerId: number,
  access: 'disabled' | 'enabled',
): Promise<void> => {
  const now = isoTimestamp(writes.clock.now());
  const type = access === 'disabled' ? 'DisableAccount' : 'EnableAccount';
  accountOf(await runOnAccount(writes.store, { type, now }, contextOf(customerId)));
  await settleAccess(writes, customerId);
};

/**
 * Runs even without a new event: an earlier command may have failed to write the row. If the process that opened the
 * account died before it wrote the row, and no row were written here, the account would look open from the moment when
 * the read model applies the first event until it applies the last.
 */
const settleAccess = async ({ store, rows }: RowWrites, customerId: number): Promise<void> => {
  const { state, revision } = await loadAccount(store, customerId);
  if (state.status === 'NONE' || typeof revision !== 'number') return;
  const { name, sellerId } = state;
  await rows.writeOpened([{ customerId, name, sellerId }]);
  await rows.writeAccess([{ customerId, revision, disabledAt: state.disabledAt ?? null }]);
};

/**
 * Adds a user. If the process dies between event and row, the credentials read model writes the row: the user then
 * exists although the operator saw no answer.
 * @returns the user's id
 * @throws ApiError NOT_FOUND when the account does not exist
 */
export const addUser = async (
  { store, rows, clock }: RowWrites,
  customerId: number,
  user: { readonly name: string; readonly role: Role },
): Promise<string> => {
  const now = isoTimestamp(clock.now());
  const command = { type: 'AddUser', now, ...user } as const;
  const { users } = accountOf(await runOnAccount(store, command, contextOf(customerId)));
  const userId = Object.keys(users).at(-1);
  if (userId === undefined) throw new Error('a user that was added is in the account');
  await rows.writeUsers([{ customerId, userId, ...user }]);
  return userId;
};

/**
 * Revokes a key. Repeating changes nothing. The row is updated before the event is written: after a crash in between
 * the key is refused, but still counts against the limit until the next issue corrects that. The other order could
 * report a key as revoked that still works.
 * @throws ApiError NOT_FOUND when the account has no such key
 */
export const revokeApiKey = async (
  { store, database, clock }: AccountWrites,
  keyId: string,
  context: CommandContext,
): Promise<void> => {
  const now = isoTimestamp(clock.now());
  if (!(await revokeKeyRow(database, context.customerId, keyId, now))) throw notFound('API key');
  accountOf(await runOnAccount(store, { type: 'RevokeApiKey', now, keyId }, context));
};
