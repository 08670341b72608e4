import { isoTimestamp } from '../../shared/async/clock.ts';
import type { CommandContext } from '../../shared/aggregate/command-context.ts';
import { notFound } from '../../shared/http/errors.ts';
import { accountOf, runOnAccount, type AccountWrites } from './account-writes.ts';
import { revokeKeyRow } from './key-rows.ts';

/**
 * Revokes a key of the account; repeating changes nothing. The key is refused before its event is written: a
 * crash in between leaves a key that is refused and still counted, never one that is reported revoked and still
 * works. Issuing counts it right again.
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
