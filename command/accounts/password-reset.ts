import { localPartOf } from '../../domain/accounts/address.ts';
import type { ResetBody } from '../../domain/accounts/sign-in-input.ts';
import { derivedId } from '../../shared/aggregate/ids.ts';
import { AlreadyDoneError, conflict } from '../../shared/http/errors.ts';
import type { RequestContext } from '../../shared/http/route.ts';
import type { LinkTokenOf } from '../workers/mail/link-token.ts';
import { NO_ACCOUNT, requestMail } from '../workers/mail/request-mail.ts';
import type { FindLogin } from './login-rows.ts';
import { findLink, insertLink, takeLink } from './one-time-links.ts';
import { refuseGuessable, type Passwords } from './passwords.ts';
import { passSecondFactor, type FactorWrites } from './second-factor.ts';
import { setPassword, type PasswordWrites } from './set-password.ts';
import { contextOfUser } from './sign-in.ts';

/** For a link, and for its ticket. */
export const RESET_MS = 10 * 60_000;

export interface ResetWrites extends PasswordWrites, FactorWrites {
  readonly findLogin: FindLogin;
  readonly passwords: Passwords;
  readonly linkTokenOf: LinkTokenOf;
}

/** The worker looks the address up: the answer and its time say nothing about it. */
export const requestReset = (
  { pool, keys }: PasswordWrites,
  email: string,
  { commandId, requestId }: RequestContext,
): Promise<void> =>
  requestMail(pool, keys, {
    customerId: NO_ACCOUNT,
    mailId: derivedId(commandId, 'mail'),
    request: { type: 'password-reset', email },
    correlationId: requestId,
  });

/** Uses the link. The ticket derives from the command, so that a repeat gets the same one. */
export const verifyReset = async (
  { pool, linkTokenOf }: Pick<ResetWrites, 'pool' | 'linkTokenOf'>,
  token: string,
  { commandId }: RequestContext,
): Promise<{ readonly ticket: string; readonly expiresAt: string }> => {
  const { customerId, userId } = await takeLink(pool, 'password-reset', token, commandId);
  const ticket = await linkTokenOf(derivedId(commandId, 'ticket'));
  const inserted = await insertLink(pool, ticket, {
    purpose: 'reset-ticket',
    customerId,
    ...(userId !== null && { userId }),
    validMs: RESET_MS,
  });
  if (inserted === undefined) {
    throw new AlreadyDoneError({ code: 'CONFLICT', message: 'The ticket was used or has expired.' });
  }
  return { ticket, expiresAt: inserted.expiresAt.toISOString() };
};

/** Ends all sessions, the first time also other access (`setPassword`). Starts none; the second factor is asked for. */
export const resetPassword = async (
  writes: ResetWrites,
  { ticket, password, code }: ResetBody,
  request: RequestContext,
): Promise<void> => {
  const { pool, passwords, findLogin } = writes;
  const { commandId } = request;
  const link = await findLink(pool, 'reset-ticket', ticket, commandId, 'ticket');
  const { customerId, userId } = link;
  const login = userId === null ? undefined : await findLogin.ofUser({ customerId, userId });
  if (login === undefined) throw conflict('The user has no password any more.');
  const { company, email } = login;
  refuseGuessable('password', password, { company, name: localPartOf(email) });
  const context = contextOfUser(request, login);
  if (link.usedBy !== commandId) await passSecondFactor(writes, login, code, context);
  const passwordHash = await passwords.hash(password);
  await takeLink(pool, 'reset-ticket', ticket, commandId, 'ticket');
  const user = { customerId, userId: login.userId };
  await setPassword(writes, { ...user, passwordHash, by: 'reset' }, context);
};
