import { localPartOf } from '../../domain/accounts/address.ts';
import type { ChangePasswordBody } from '../../domain/accounts/sign-in-input.ts';
import { conflict, invalid, type ApiError } from '../../shared/http/errors.ts';
import type { ReplyHeaders, RequestContext } from '../../shared/http/route.ts';
import type { FindLogin, Login } from './login-rows.ts';
import { refuseGuessable, type Passwords } from './passwords.ts';
import { sessionOf } from './session-of.ts';
import { renewSession } from './sessions.ts';
import { setPassword, type PasswordWrites } from './set-password.ts';

export const wrongPassword = (field: string): ApiError => invalid(`${field} is not your password.`, field);

/** @throws ApiError NOT_FOUND if the address was deleted meanwhile */
export const loginOfSession = async (findLogin: FindLogin, request: RequestContext): Promise<Login> => {
  const login = await findLogin.ofUser(sessionOf(request).user);
  if (login === undefined) throw conflict('You have no password any more. Ask for a new link.');
  return login;
};

/** Ends the user's other sessions; this one gets a new secret. */
export const changePassword = async (
  writes: PasswordWrites & { readonly passwords: Passwords; readonly findLogin: FindLogin },
  { currentPassword, newPassword }: ChangePasswordBody,
  request: RequestContext,
): Promise<ReplyHeaders> => {
  const { pool, passwords, findLogin } = writes;
  const { user, sessionId, context } = sessionOf(request);
  const login = await loginOfSession(findLogin, request);
  const { company, email, passwordHash: before } = login;
  refuseGuessable('newPassword', newPassword, { company, name: localPartOf(email) });
  const passwordHash = await passwords.replace(before, currentPassword, newPassword);
  if (passwordHash === undefined) throw wrongPassword('currentPassword');
  const next = { ...user, passwordHash, by: 'change', before, keepsSession: sessionId } as const;
  if (!(await setPassword(writes, next, context))) {
    throw conflict('Another request has changed the password. Sign in with it.');
  }
  return renewSession(pool, user, sessionId);
};
