import { createHash, createHmac, randomBytes } from 'node:crypto';
import type { Pool } from 'pg';
import { acceptedSteps } from '../../domain/accounts/totp.ts';
import type { SignInMethod } from '../../domain/accounts/session-events.ts';
import type { CommandContext } from '../../shared/aggregate/command-context.ts';
import { derivedId } from '../../shared/aggregate/ids.ts';
import { isoTimestamp, type Clock } from '../../shared/async/clock.ts';
import type { EventStore } from '../../shared/event-store/event-store.ts';
import { ApiError, KnownHolderError } from '../../shared/http/errors.ts';
import type { SecretStore } from '../../shared/secrets/secret-store.ts';
import { accountOf, runOnAccount } from './handler.ts';
import type { Login, UserKey } from './login-rows.ts';
import { acceptStep, countCodeTry, takeLookupCode } from './second-factor-rows.ts';

export interface FactorWrites {
  readonly store: EventStore;
  readonly pool: Pool;
  readonly clock: Clock;
  readonly secrets: SecretStore;
}

const LETTERS = 'ABCDEFGHIJKLMNOPQRSTUVWXYZ234567';
const BITS = 5;

/** RFC 4648, without padding. */
export const base32 = (bytes: Buffer): string => {
  const bits = [...bytes].map((byte) => byte.toString(2).padStart(8, '0')).join('');
  return (bits.match(/.{1,5}/g) ?? [])
    .map((five) => LETTERS[Number.parseInt(five.padEnd(BITS, '0'), 2)])
    .join('');
};

/** RFC 4226, 5.3. @param seed as base64url */
export const codeOfStep = (seed: string, step: number): string => {
  const counter = Buffer.alloc(8);
  counter.writeBigUInt64BE(BigInt(step));
  const digest = createHmac('sha1', Buffer.from(seed, 'base64url')).update(counter).digest();
  const offset = digest.readUInt8(digest.length - 1) & 0xf;
  const number = digest.readUInt32BE(offset) & 0x7f_ff_ff_ff;
  return String(number % 1_000_000).padStart(6, '0');
};

/** @param seed as base64url @returns the step that the code is for, if it is accepted now */
export const stepOfCode = (
  seed: string,
  code: string,
  nowMs: number,
  lastStep: number | null,
): number | undefined =>
  acceptedSteps(nowMs, lastStep ?? undefined).find((step) => codeOfStep(seed, step) === code);

const CODES = 10;
/** 80 bits: its hash cannot be reversed by trying. */
const CODE_BYTES = 10;

export const newLookupCodes = (): readonly string[] =>
  Array.from({ length: CODES }, () =>
    base32(randomBytes(CODE_BYTES))
      .toLowerCase()
      .replaceAll(/(.{4})(?=.)/g, '$1-'),
  );

export const hashOfLookupCode = (code: string): Buffer =>
  createHash('sha256').update(code.toLowerCase().replaceAll(/[\s-]/g, '')).digest();

export const unauthorized = (message: string, reason?: string): ApiError =>
  new ApiError({ code: 'UNAUTHORIZED', message, ...(reason !== undefined && { details: { reason } }) });

/** Failed attempts are listed in the account's audit log. */
export const refusedUser = (refusal: ApiError, { customerId, userId, role }: Login): KnownHolderError =>
  new KnownHolderError(refusal, {
    customerId,
    actor: `user:${userId}`,
    user: { id: userId, role },
  });

/**
 * After the password: a code is only asked of those who know it.
 * @throws ApiError UNAUTHORIZED, with `details.reason` `code-required`, `code-invalid` or `code-blocked`
 */
export const passSecondFactor = async (
  writes: FactorWrites,
  login: Login,
  code: string | undefined,
  context: CommandContext,
): Promise<SignInMethod> => {
  if (login.totpSecretId === null) return 'password';
  if (code === undefined) {
    throw unauthorized('Send the code of your authenticator, or a lookup code.', 'code-required');
  }
  if (!(await countCodeTry(writes.pool, login))) {
    throw refusedUser(unauthorized('Too many wrong codes. Wait 15 minutes.', 'code-blocked'), login);
  }
  if (/^\d{6}$/.test(code)) {
    if (await isCodeNow(writes, login, login.totpSecretId, code)) return 'password-and-totp';
  } else if (await takeLookupCode(writes.pool, login, hashOfLookupCode(code))) {
    await recordLookupCode(writes, login, context);
    return 'password-and-lookup-code';
  }
  throw refusedUser(unauthorized('The code is wrong, or was used before.', 'code-invalid'), login);
};

const isCodeNow = async (
  { pool, secrets, clock }: FactorWrites,
  login: Login,
  secretId: string,
  code: string,
): Promise<boolean> => {
  const seed = await secrets.get(login.customerId, secretId);
  if (seed === undefined) throw new Error('the seed of a second factor is missing');
  const step = stepOfCode(seed, code, clock.now(), login.totpLastStep);
  return step !== undefined && acceptStep(pool, login, step);
};

/** The row comes first, because it decides. After a crash in between, the code is used and the event is missing. */
const recordLookupCode = async (
  writes: FactorWrites,
  { userId }: UserKey,
  context: CommandContext,
): Promise<void> => {
  const now = isoTimestamp(writes.clock.now());
  const command = { type: 'UseLookupCode', now, userId } as const;
  const commandId = derivedId(context.commandId, 'lookup-code');
  accountOf(await runOnAccount(writes, command, { ...context, commandId }));
};
