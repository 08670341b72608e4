import { randomUUID } from 'node:crypto';
import type { Pool } from 'pg';
import type { AuthorizedClient, RevokedBy } from '../../../domain/accounts/oauth-grant.ts';
import type { CommandContext } from '../../../shared/aggregate/command-context.ts';
import { derivedId } from '../../../shared/aggregate/ids.ts';
import { isoTimestamp } from '../../../shared/async/clock.ts';
import { notFound } from '../../../shared/http/errors.ts';
import { grants, type GrantWrites } from './handler.ts';

/**
 * The event comes first. Interrupted in between, the row follows: no client has a code for the grant yet.
 * @returns false if the grant has ended
 */
export const authorizeClient = async (
  { store, clock, rows }: GrantWrites,
  client: AuthorizedClient,
  context: CommandContext,
): Promise<boolean> => {
  const command = { type: 'AuthorizeClient', now: isoTimestamp(clock.now()), ...client } as const;
  const { status, ...grant } = grants.resultOf(
    await grants.execute({ store }, client.grantId, command, { context }),
  );
  await rows.writeGrants([{ ...grant, customerId: context.customerId }]);
  return status === 'AUTHORIZED';
};

/**
 * Ends the grant with all its tokens: every process refuses them once this returns. The event comes first, so
 * that after a crash in between the read model ends the grant, although the caller saw no answer.
 * @throws ApiError NOT_FOUND
 */
const revokeGrant = async (
  { store, clock, rows }: GrantWrites,
  grantId: string,
  by: RevokedBy,
  context: CommandContext,
): Promise<void> => {
  const now = isoTimestamp(clock.now());
  const command = { type: 'RevokeGrant', now, by } as const;
  const { revokedAt = now } = grants.resultOf(await grants.execute({ store }, grantId, command, { context }));
  await rows.writeRevoked([{ customerId: context.customerId, grantId, revokedAt }]);
};

/** The grant may be in any account. Does nothing if it has ended. */
export const endGrant = async (
  writes: InstallationGrants,
  grantId: string,
  by: RevokedBy,
  context: Omit<CommandContext, 'customerId'>,
): Promise<void> => {
  const { rows } = await writes.pool.query<{ customerId: number }>({
    name: 'oauth-grant-account',
    text: `select customer_id::float8 as "customerId" from oauth_grants where grant_id = $1 and revoked_at is null`,
    values: [grantId],
  });
  const [grant] = rows;
  if (grant === undefined) return;
  const commandId = derivedId(context.commandId, grantId);
  await revokeGrant(writes, grantId, by, { ...context, ...grant, commandId });
};

/** For grants whose rows have ended. */
export const recordRevoked = async (
  { store, clock }: Pick<GrantWrites, 'store' | 'clock'>,
  grantIds: readonly string[],
  by: RevokedBy,
  context: CommandContext,
): Promise<void> => {
  const command = { type: 'RevokeGrant', now: isoTimestamp(clock.now()), by } as const;
  for (const grantId of grantIds) {
    const ofGrant = { ...context, commandId: derivedId(context.commandId, grantId) };
    grants.resultOf(await grants.execute({ store }, grantId, command, { context: ofGrant }));
  }
};

/** @throws ApiError NOT_FOUND, also for another user's grant */
export const revokeGrantFor = async (
  writes: GrantWrites,
  grantId: string,
  { userId, isAdmin }: { readonly userId: string; readonly isAdmin: boolean },
  context: CommandContext,
): Promise<void> => {
  const { state } = await grants.loadAt(writes, context.customerId, grantId);
  const isOwn = state.status !== 'NONE' && state.userId === userId;
  if (!isOwn && !(isAdmin && state.status !== 'NONE')) throw notFound('connected app');
  await revokeGrant(writes, grantId, isOwn ? 'user' : 'admin', context);
};

interface LiveGrant {
  readonly customerId: number;
  readonly grantId: string;
}

const liveGrants = async (
  pool: Pick<Pool, 'query'>,
  condition: string,
  values: readonly unknown[],
): Promise<readonly LiveGrant[]> => {
  const { rows } = await pool.query<LiveGrant>(
    `select customer_id::float8 as "customerId", grant_id as "grantId" from oauth_grants
     where ${condition} and revoked_at is null and expires_at > clock_timestamp()`,
    [...values],
  );
  return rows;
};

type InstallationGrants = GrantWrites & {
  /** Not bound to an account. */
  readonly pool: Pick<Pool, 'query'>;
};

/** One command for each grant. A repeat ends those that are left. */
export const revokeGrantsOfUser = async (
  writes: InstallationGrants,
  userId: string,
  by: RevokedBy,
  context: CommandContext,
): Promise<void> => {
  const { customerId, commandId } = context;
  const found = await liveGrants(writes.pool, 'customer_id = $1 and user_id = $2', [customerId, userId]);
  for (const { grantId } of found) {
    await revokeGrant(writes, grantId, by, { ...context, commandId: derivedId(commandId, grantId) });
  }
};

export const revokeGrantsOfClient = async (writes: InstallationGrants, clientId: string): Promise<number> => {
  const found = await liveGrants(writes.pool, 'client_id = $1', [clientId]);
  for (const { customerId, grantId } of found) {
    const commandId = randomUUID();
    const context = { commandId, customerId, actor: 'operator', requestId: commandId };
    await revokeGrant(writes, grantId, 'operator', context);
  }
  return found.length;
};
