import { isoTimestamp } from '../../shared/async/clock.ts';
import type { CommandContext } from '../../shared/aggregate/command-context.ts';
import { notFound } from '../../shared/http/errors.ts';
import { accountOf, runOnAccount, type AccountWrites } from './account-writes.ts';
import { revokeKeyRow } from './key-rows.ts';

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
