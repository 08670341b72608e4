import { randomUUID } from 'node:crypto';
import type { Role } from '../../domain/accounts/access.ts';
import { userIdOf } from '../../domain/accounts/members.ts';
import type { CommandContext } from '../../shared/aggregate/command-context.ts';
import { isoTimestamp } from '../../shared/async/clock.ts';
import { notFound } from '../../shared/http/errors.ts';
import { revokeKeyRow } from './key-rows.ts';
import {
  accountOf,
  loadAccount,
  revisionOf,
  runOnAccount,
  type AccountOutcome,
  type AccountRows,
  type AccountWrites,
  type InstallationWrites,
} from './handler.ts';

export type RowWrites = Pick<InstallationWrites, 'store' | 'snapshots' | 'clock'> & {
  readonly rows: AccountRows;
};

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
  accountOf(await runOnAccount(writes, { type, now }, contextOf(customerId)));
  await settleAccess(writes, customerId);
};

/** Also without a new event: a lost row would show the account as open while the read model catches up. */
const settleAccess = async (writes: RowWrites, customerId: number): Promise<void> => {
  const { state, revision } = await loadAccount(writes, customerId);
  if (state.status === 'NONE' || typeof revision !== 'number') return;
  const { rows } = writes;
  await rows.writeOpened([state]);
  await rows.writeAccess([{ customerId, revision, disabledAt: state.disabledAt ?? null }]);
};

/**
 * After a crash the read model writes the row: the user exists although the operator saw no answer.
 * @throws ApiError NOT_FOUND
 */
export const addUser = async (
  writes: RowWrites,
  customerId: number,
  user: { readonly name: string; readonly role: Role },
): Promise<string> => {
  const now = isoTimestamp(writes.clock.now());
  const outcome = await runOnAccount(writes, { type: 'AddUser', now, ...user }, contextOf(customerId));
  return writeAddedUser(writes, outcome, { ...user, addedAt: now });
};

/** @param outcome of the command that added the user */
export const addedUserId = (outcome: AccountOutcome): string => {
  const { customerId, usersAdded } = accountOf(outcome);
  return userIdOf(customerId, usersAdded);
};

export const writeAddedUser = async (
  { rows }: RowWrites,
  outcome: AccountOutcome,
  user: { readonly name: string; readonly role: Role; readonly addedAt: string },
): Promise<string> => {
  const { customerId } = accountOf(outcome);
  const userId = addedUserId(outcome);
  await rows.writeUsers([{ customerId, userId, revision: revisionOf(outcome), ...user }]);
  return userId;
};

/**
 * The row comes first: after a crash in between, the key is refused, but counts against the limit until the
 * next issue. The other order could report a working key as revoked.
 * @throws ApiError NOT_FOUND
 */
export const revokeApiKey = async (
  writes: AccountWrites,
  keyId: string,
  context: CommandContext,
): Promise<void> => {
  const now = isoTimestamp(writes.clock.now());
  if (!(await revokeKeyRow(writes.database, context.customerId, keyId, now))) throw notFound('API key');
  accountOf(await runOnAccount(writes, { type: 'RevokeApiKey', now, keyId }, context));
};
