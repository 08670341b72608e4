import type { Pool } from 'pg';
import type { PasswordSource } from '../../domain/accounts/events.ts';
import type { CommandContext } from '../../shared/aggregate/command-context.ts';
import { derivedId } from '../../shared/aggregate/ids.ts';
import { isoTimestamp } from '../../shared/async/clock.ts';
import { inTransaction } from '../../shared/postgres/pool.ts';
import type { KeyRing } from '../../shared/secrets/key-ring.ts';
import { requestMail } from '../workers/mail/request-mail.ts';
import { accountOf, runOnAccount } from './handler.ts';
import { endAccessRows, setPasswordRow, verifyAddress, type UserKey } from './login-rows.ts';
import { recordRevoked } from './oauth/grants.ts';
import { endSessionsOfUser } from './session-rows.ts';
import { recordEnds, type SessionWrites } from './sessions.ts';

export interface PasswordWrites extends SessionWrites {
  readonly pool: Pool;
  readonly keys: () => Promise<KeyRing>;
}

export interface NextPassword extends UserKey {
  readonly passwordHash: string;
  readonly by: PasswordSource;
  /** The hash that was checked. Undefined: the caller holds a link. */
  readonly before?: string;
  /** The session that stays. */
  readonly keepsSession?: string;
}

/**
 * For a user who has a password. The event comes first: after a crash in between, the old password stays, and a repeat
 * sets the new one. The rows, the ends of the sessions and the notice are one transaction. A reset verifies the address,
 * because its link came by mail; the first one ends API keys, invitations and OAuth grants, too.
 * @returns false if another request has changed the password since `before` was read
 */
export const setPassword = async (
  writes: PasswordWrites,
  { by, passwordHash, before, keepsSession, ...user }: NextPassword,
  context: CommandContext,
): Promise<boolean> => {
  const { pool, clock, keys } = writes;
  const { customerId, userId } = user;
  const { commandId, requestId, correlationId = requestId } = context;
  const now = isoTimestamp(clock.now());
  accountOf(await runOnAccount(writes, { type: 'SetPassword', now, userId, by }, context));
  const ended = await inTransaction(pool, async (client) => {
    if (!(await setPasswordRow(client, user, passwordHash, before))) return undefined;
    const isFirstProof = by === 'reset' && (await verifyAddress(client, user));
    const grantIds = isFirstProof ? await endAccessRows(client, user) : [];
    await requestMail(client, keys, {
      customerId,
      mailId: derivedId(commandId, 'notice'),
      request: { type: 'password-changed', userId },
      correlationId,
    });
    const reason = by === 'change' ? 'password-changed' : 'password-reset';
    return { grantIds, sessions: await endSessionsOfUser(client, user, reason, keepsSession) };
  });
  if (ended === undefined) return false;
  await recordEnds(writes, ended.sessions, context);
  await recordRevoked(writes, ended.grantIds, 'reset', context);
  return true;
};
