import { randomBytes } from 'node:crypto';
import { derivedId, resourceIdOf } from '../../shared/aggregate/ids.ts';
import { isoTimestamp } from '../../shared/async/clock.ts';
import { conflict, invalid, type ApiError } from '../../shared/http/errors.ts';
import type { ReplyHeaders, RequestContext } from '../../shared/http/route.ts';
import { loginOfSession, wrongPassword } from './change-password.ts';
import { accountOf, runOnAccount } from './handler.ts';
import { type FindLogin, type UserKey } from './login-rows.ts';
import { confirmSeed, removeSeed, setPendingSeed } from './second-factor-rows.ts';
import type { Passwords } from './passwords.ts';
import {
  base32,
  hashOfLookupCode,
  newLookupCodes,
  passSecondFactor,
  stepOfCode,
  type FactorWrites,
} from './second-factor.ts';
import { sessionOf } from './session-of.ts';
import { renewSession } from './sessions.ts';

/** Owner of the seeds in the store of secrets. */
export const USER = 'user';

const ISSUER = 'Buyer Exchange';
/** RFC 4226, 4: 160 bits. */
const SEED_BYTES = 20;

export interface TwoFactorWrites extends FactorWrites {
  readonly findLogin: FindLogin;
  readonly passwords: Passwords;
}

const isOn = (): ApiError => conflict('You have a second factor already. Disable it first.');

/** The seed has no effect before a code of it is confirmed. A further start replaces it. */
export const startTotp = async (
  { pool, secrets, passwords, findLogin }: TwoFactorWrites,
  password: string,
  request: RequestContext,
): Promise<{ readonly secret: string; readonly otpauthUri: string }> => {
  const login = await loginOfSession(findLogin, request);
  const { customerId, userId, email, passwordHash, totpPendingId } = login;
  if (!(await passwords.verify(passwordHash, password))) throw wrongPassword('password');
  const seed = randomBytes(SEED_BYTES);
  const secretId = derivedId(request.commandId, 'totp-seed');
  const owner = { kind: USER, id: resourceIdOf(USER, customerId, 0, userId) };
  await secrets.put(customerId, secretId, seed.toString('base64url'), owner);
  if (!(await setPendingSeed(pool, login, secretId))) throw isOn();
  if (totpPendingId !== null && totpPendingId !== secretId) await secrets.remove(customerId, totpPendingId);
  const secret = base32(seed);
  return { secret, otpauthUri: otpauthUri(email, secret) };
};

const otpauthUri = (email: string, secret: string): string => {
  const label = `${encodeURIComponent(ISSUER)}:${encodeURIComponent(email)}`;
  return `otpauth://totp/${label}?secret=${secret}&issuer=${encodeURIComponent(ISSUER)}&algorithm=SHA1&digits=6&period=30`;
};

interface ConfirmedTotp {
  readonly lookupCodes: readonly string[];
  readonly headers: ReplyHeaders;
}

/** The event comes first: after a crash in between, the second factor is not on, and a repeat turns it on. */
export const confirmTotp = async (
  writes: TwoFactorWrites,
  code: string,
  request: RequestContext,
): Promise<ConfirmedTotp> => {
  const { pool, clock, secrets, findLogin } = writes;
  const login = await loginOfSession(findLogin, request);
  const { customerId, userId, totpPendingId: secretId } = login;
  if (login.totpSecretId !== null) throw isOn();
  const seed = secretId === null ? undefined : await secrets.get(customerId, secretId);
  if (secretId === null || seed === undefined) throw conflict('Start the second factor first.');
  const step = stepOfCode(seed, code, clock.now(), null);
  if (step === undefined) throw invalid('code is not the one that the authenticator shows now.', 'code');
  const { user, sessionId, context } = sessionOf(request);
  const now = isoTimestamp(clock.now());
  accountOf(await runOnAccount(writes, { type: 'EnableTotp', now, userId }, context));
  const lookupCodes = newLookupCodes();
  const codeHashes = lookupCodes.map(hashOfLookupCode);
  if (!(await confirmSeed(pool, { ...user, secretId, step, codeHashes }))) throw isOn();
  return { lookupCodes, headers: await renewSession(pool, user, sessionId) };
};

export interface TotpProof {
  readonly password: string;
  readonly code: string;
}

export const disableTotp = async (
  writes: TwoFactorWrites,
  { password, code }: TotpProof,
  request: RequestContext,
): Promise<ReplyHeaders> => {
  const { pool, passwords, findLogin } = writes;
  const login = await loginOfSession(findLogin, request);
  if (!(await passwords.verify(login.passwordHash, password))) throw wrongPassword('password');
  const { user, sessionId, context } = sessionOf(request);
  await passSecondFactor(writes, login, code, context);
  await removeTotp(writes, login, context);
  return renewSession(pool, user, sessionId);
};

/** Also for an operator. The event comes first: after a crash in between, the second factor is still asked for. */
export const removeTotp = async (
  writes: FactorWrites,
  { customerId, userId }: UserKey,
  context: Parameters<typeof runOnAccount>[2],
): Promise<void> => {
  const { pool, clock, secrets } = writes;
  const now = isoTimestamp(clock.now());
  accountOf(await runOnAccount(writes, { type: 'DisableTotp', now, userId }, context));
  const secretId = await removeSeed(pool, { customerId, userId });
  if (secretId !== undefined) await secrets.remove(customerId, secretId);
};
