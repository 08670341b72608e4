import type { Pool } from 'pg';
import type { CommandContext } from '../../shared/aggregate/command-context.ts';
import { isoTimestamp } from '../../shared/async/clock.ts';
import type { RowWrites } from './commands.ts';
import { accountOf, runOnAccount } from './handler.ts';
import { deleteLinks, insertLink, newLinkToken } from './one-time-links.ts';

const LINK_MS = 24 * 3_600_000;

export interface UserLink {
  readonly token: string;
  readonly expiresAt: string;
}

/**
 * For a user without a login, or with a lost one. A further link replaces it. The event comes first: after a crash in
 * between, the log shows a link that was never printed.
 * @throws ApiError NOT_FOUND
 */
export const issueUserLink = async (
  writes: Pick<RowWrites, 'store' | 'snapshots' | 'clock'> & { readonly pool: Pool },
  userId: string,
  context: CommandContext,
): Promise<UserLink> => {
  const { pool, clock } = writes;
  const { customerId } = context;
  const now = isoTimestamp(clock.now());
  accountOf(await runOnAccount(writes, { type: 'IssueUserLink', now, userId }, context));
  const token = newLinkToken();
  await deleteLinks(pool, { customerId, userId }, 'set-up');
  const link = await insertLink(pool, token, { purpose: 'set-up', customerId, userId, validMs: LINK_MS });
  if (link === undefined) throw new Error('the new link exists already');
  return { token, expiresAt: link.expiresAt.toISOString() };
};
