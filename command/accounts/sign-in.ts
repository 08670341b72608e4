import { emailKeyOf } from '../../domain/accounts/address.ts';
import type { SignInBody } from '../../domain/accounts/sign-in-input.ts';
import type { SignInMethod } from '../../domain/accounts/session-events.ts';
import type { CommandContext } from '../../shared/aggregate/command-context.ts';
import type { RequestContext } from '../../shared/http/route.ts';
import { replaceHash, type FindLogin, type Login, type UserKey } from './login-rows.ts';
import type { Passwords } from './passwords.ts';
import { passSecondFactor, refusedUser, unauthorized, type FactorWrites } from './second-factor.ts';
import { methodOfSession } from './session-rows.ts';
import { sessionIdOf, startSession, type SignedIn } from './sessions.ts';

export interface SignInWrites extends FactorWrites {
  readonly findLogin: FindLogin;
  readonly passwords: Passwords;
}

/** For a person without a session yet. */
export const contextOfUser = (
  { commandId, requestId, hasRunBefore, onEvents }: RequestContext,
  { customerId, userId }: UserKey,
): CommandContext => ({ commandId, customerId, actor: `user:${userId}`, requestId, hasRunBefore, onEvents });

/**
 * Known and unknown addresses take the same steps, and get the same refusal.
 * @throws ApiError UNAUTHORIZED
 */
export const signIn = async (
  writes: SignInWrites,
  { email, password, code }: SignInBody,
  request: RequestContext,
): Promise<SignedIn> => {
  const { findLogin, passwords } = writes;
  const login = await findLogin.ofAddress(emailKeyOf(email));
  const isRight = await passwords.verify(login?.passwordHash, password);
  const refusal = unauthorized('The address or the password is wrong.');
  if (login === undefined) throw refusal;
  if (!isRight || !login.isOpen) throw refusedUser(refusal, login);
  const method = await secondFactorOnce(writes, login, code, request);
  await rehash(writes, login, password);
  return startSession(writes, login, method, request);
};

/** A code works once, also for a request that is repeated after it has started its session. */
const secondFactorOnce = async (
  writes: SignInWrites,
  login: Login,
  code: string | undefined,
  request: RequestContext,
): Promise<SignInMethod> => {
  const passed = (await request.hasRunBefore())
    ? await methodOfSession(writes.pool, login, sessionIdOf(request))
    : undefined;
  return passed ?? passSecondFactor(writes, login, code, contextOfUser(request, login));
};

/** If it fails, the next sign-in does it. */
const rehash = async ({ pool, passwords }: SignInWrites, login: Login, password: string): Promise<void> => {
  if (!passwords.isOutdated(login.passwordHash)) return;
  await passwords
    .hash(password)
    .then((next) => replaceHash(pool, login, login.passwordHash, next))
    .catch(() => undefined);
};
