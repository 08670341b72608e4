import { z } from 'zod';
import type { Pool } from 'pg';
import { firstUser } from '../../domain/accounts/account.ts';
import { customerDomainOf, emailKeyOf, localPartOf } from '../../domain/accounts/address.ts';
import type { SignUpBody, VerifyEmailBody } from '../../domain/accounts/sign-in-input.ts';
import { derivedId } from '../../shared/aggregate/ids.ts';
import { isoTimestamp } from '../../shared/async/clock.ts';
import { conflict } from '../../shared/http/errors.ts';
import type { RequestContext } from '../../shared/http/route.ts';
import type { KeyRing } from '../../shared/secrets/key-ring.ts';
import { NO_ACCOUNT, requestMail } from '../workers/mail/request-mail.ts';
import { runOnAccount, type AccountRows } from './handler.ts';
import { announceAddress, claimAddress, type UserKey } from './login-rows.ts';
import { findLink, takeLink } from './one-time-links.ts';
import { refuseGuessable, type Passwords } from './passwords.ts';
import { unauthorized } from './second-factor.ts';
import { startSession, type SessionWrites, type SignedIn } from './sessions.ts';

export interface SignUpWrites extends SessionWrites {
  readonly rows: AccountRows;
  readonly passwords: Passwords;
  readonly keys: () => Promise<KeyRing>;
}

/** What the mail of a sign-up needs, and then its link. */
export const PendingSignUp = z.object({ email: z.string(), company: z.string(), passwordHash: z.string() });
export type PendingSignUp = z.infer<typeof PendingSignUp>;

const checked = async (
  passwords: Passwords,
  { email, company, password }: SignUpBody,
): Promise<PendingSignUp> => {
  refuseGuessable('password', password, { company, name: localPartOf(email) });
  return { email, company, passwordHash: await passwords.hash(password) };
};

/** The worker finds out which mail to send, so that known and unknown addresses take the same time. */
const requestSignUpMail = (
  { pool, keys }: { readonly pool: Pool; readonly keys: () => Promise<KeyRing> },
  pending: PendingSignUp,
  { commandId, requestId }: RequestContext,
): Promise<void> =>
  requestMail(pool, keys, {
    customerId: NO_ACCOUNT,
    mailId: derivedId(commandId, 'mail'),
    request: { type: 'sign-up', ...pending },
    correlationId: requestId,
  });

/** Where addresses are verified: the account opens from the mail. */
export const requestSignUp = async (
  writes: SignUpWrites,
  body: SignUpBody,
  request: RequestContext,
): Promise<void> => requestSignUpMail(writes, await checked(writes.passwords, body), request);

/** Where addresses are not verified. @returns undefined for a taken address, whose owner gets a mail */
export const signUp = async (
  writes: SignUpWrites,
  customerId: number,
  body: SignUpBody,
  request: RequestContext,
): Promise<SignedIn | undefined> => {
  const pending = await checked(writes.passwords, body);
  const user = await openOwnAccount(writes, customerId, pending, false, request);
  if (user !== undefined) return startSession(writes, user, 'sign-up', request);
  await requestSignUpMail(writes, pending, request);
  return undefined;
};

/**
 * The password must be that of the sign-up: an attacker who signs up with another person's address must not
 * get an account that this person verifies.
 */
export const verifyEmail = async (
  writes: SignUpWrites,
  customerId: number,
  { token, password }: VerifyEmailBody,
  request: RequestContext,
): Promise<SignedIn> => {
  const { pool, passwords } = writes;
  const { data } = await findLink(pool, 'sign-up', token, request.commandId);
  const pending = PendingSignUp.parse(data);
  if (!(await passwords.verify(pending.passwordHash, password))) {
    throw unauthorized('The password is not the one of the sign-up.');
  }
  const user = await openOwnAccount(writes, customerId, pending, true, request);
  if (user === undefined) throw notFinished();
  // Last: after a failure before, the same link opens the account once the sweep has freed the address.
  await takeLink(pool, 'sign-up', token, request.commandId);
  return startSession(writes, user, 'sign-up', request);
};

const notFinished = () =>
  conflict(
    'The address has an account, or its sign-up was interrupted. Sign in; if that fails, repeat this in 15 minutes.',
  );

/**
 * The address and the hash come first: they have no effect without the account, and one of two sign-ups at once gets the
 * address. After a crash in between, a repeat with the same Idempotency-Key opens the account, or the sweep frees the
 * address. After the event, the read model writes the rows.
 * @returns undefined for a taken address
 */
const openOwnAccount = async (
  writes: SignUpWrites,
  customerId: number,
  { email, company, passwordHash }: PendingSignUp,
  isVerified: boolean,
  { commandId, requestId, onEvents }: RequestContext,
): Promise<UserKey | undefined> => {
  const { pool, clock, rows } = writes;
  const { userId, name, role } = firstUser(customerId, undefined);
  const login = { customerId, userId, email, emailKey: emailKeyOf(email), passwordHash, isVerified };
  if (!(await claimAddress(pool, login))) return undefined;
  const now = isoTimestamp(clock.now());
  const customerDomain = customerDomainOf(email);
  const outcome = await runOnAccount(
    writes,
    {
      type: 'OpenAccount',
      now,
      customerId,
      name: company,
      customerDomain,
      firstPassword: { emailVerified: isVerified },
    },
    { commandId, customerId, actor: `user:${userId}`, requestId, onEvents },
  );
  if (outcome.outcome === 'refused') {
    throw new Error(`account ${customerId} exists already: the id sequence is behind the log`);
  }
  await rows.writeOpened([{ customerId, name: company, customerDomain }]);
  await rows.writeUsers([{ customerId, userId, name, role, revision: 0, addedAt: now }]);
  await announceAddress(pool, { customerId, userId });
  return { customerId, userId };
};
