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
} from './handler.ts';

type RowWrites = Pick<InstallationWrites, 'store' | 'clock'> & { readonly rows: AccountRows };

export const contextOf = (customerId: number) => {
  const commandId = randomUUID();
  return { commandId, customerId, actor: 'operator', requestId: commandId };
};

/** Rows may be written in any order: `writeAccess` keeps the higher revision. @throws ApiError NOT_FOUND */
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

/** Also without a new event: a lost row would show the account as open while the read model catches up. */
const settleAccess = async ({ store, rows }: RowWrites, customerId: number): Promise<void> => {
  const { state, revision } = await loadAccount(store, customerId);
  if (state.status === 'NONE' || typeof revision !== 'number') return;
  const { name, sellerId } = state;
  await rows.writeOpened([{ customerId, name, sellerId }]);
  await rows.writeAccess([{ customerId, revision, disabledAt: state.disabledAt ?? null }]);
};

/**
 * After a crash the read model writes the row: the user exists although the operator saw no answer.
 * @throws ApiError NOT_FOUND
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
 * The row comes first: after a crash in between, the key is refused, but counts against the limit until the
 * next issue. The other order could report a working key as revoked.
 * @throws ApiError NOT_FOUND
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
