import { emailKeyOf, localPartOf } from '../../domain/accounts/address.ts';
import { valueOf } from '../../domain/accounts/shared-map.ts';
import type { SetUpBody } from '../../domain/accounts/sign-in-input.ts';
import { isoTimestamp } from '../../shared/async/clock.ts';
import { conflict, invalid } from '../../shared/http/errors.ts';
import type { CommandContext } from '../../shared/aggregate/command-context.ts';
import type { RequestContext } from '../../shared/http/route.ts';
import { accountOf, loadAccount, runOnAccount } from './handler.ts';
import { announceAddress, claimAddress, type FindLogin, type Login, type UserKey } from './login-rows.ts';
import { findLink, takeLink, type OneTimeLink } from './one-time-links.ts';
import { refuseGuessable, type Passwords } from './passwords.ts';
import { passSecondFactor, type FactorWrites } from './second-factor.ts';
import { methodOfSession } from './session-rows.ts';
import { sessionIdOf, startSession, type SignedIn } from './sessions.ts';
import { setPassword, type PasswordWrites } from './set-password.ts';
import { contextOfUser } from './sign-in.ts';

export interface SetUpWrites extends PasswordWrites, FactorWrites {
  readonly findLogin: FindLogin;
  readonly passwords: Passwords;
}

/** From an operator's link: a first password with an address, or a new password. */
export const setUp = async (
  writes: SetUpWrites,
  body: SetUpBody,
  request: RequestContext,
): Promise<SignedIn> => {
  const { pool, findLogin } = writes;
  const link = await findLink(pool, 'set-up', body.token, request.commandId);
  if (link.userId === null) throw new Error('a set-up link names its user');
  const user = { customerId: link.customerId, userId: link.userId };
  const { state } = await loadAccount(writes, user.customerId);
  if (state.status !== 'OPEN' || valueOf(state.users, user.userId) === undefined) {
    throw conflict('The account is disabled, or the user was removed.');
  }
  refuseGuessable('password', body.password, { company: state.name, name: localPartOf(body.email) });
  const context = contextOfUser(request, user);
  // A repeat that set the password again would end the session that it answers with.
  const isDone = (await methodOfSession(pool, user, sessionIdOf(request))) !== undefined;
  if (!isDone) {
    const login = await findLogin.ofUser(user);
    if (login === undefined) await firstPassword(writes, user, body, context);
    else await newPassword(writes, login, link, body, context);
  }
  return startSession(writes, user, 'link', request);
};

/** The rows come first and have no effect before they are announced: an address may be taken. */
const firstPassword = async (
  writes: SetUpWrites,
  user: UserKey,
  { token, email, password }: SetUpBody,
  context: CommandContext,
): Promise<void> => {
  const { pool, clock, passwords } = writes;
  const passwordHash = await passwords.hash(password);
  const login = { ...user, email, emailKey: emailKeyOf(email), passwordHash, isVerified: false };
  if (!(await claimAddress(pool, login))) throw conflict('Another user has this address.', 'email');
  await takeLink(pool, 'set-up', token, context.commandId);
  const { userId } = user;
  const now = isoTimestamp(clock.now());
  accountOf(await runOnAccount(writes, { type: 'SetPassword', now, userId, by: 'link' }, context));
  await announceAddress(pool, user);
};

const newPassword = async (
  writes: SetUpWrites,
  login: Login,
  { usedBy }: OneTimeLink,
  { token, email, password, code }: SetUpBody,
  context: CommandContext,
): Promise<void> => {
  const { pool, passwords } = writes;
  const { customerId, userId } = login;
  if (emailKeyOf(email) !== emailKeyOf(login.email)) throw invalid('email is not your address.', 'email');
  if (usedBy !== context.commandId) await passSecondFactor(writes, login, code, context);
  const passwordHash = await passwords.hash(password);
  await takeLink(pool, 'set-up', token, context.commandId);
  await setPassword(writes, { customerId, userId, passwordHash, by: 'link' }, context);
};
