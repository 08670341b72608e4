import { availableParallelism } from 'node:os';
import { hash, parseOptions, verify, type Options } from '@node-rs/argon2';
import { guessableWordIn } from '../../domain/accounts/password.ts';
import { createLimit } from '../../shared/async/limit.ts';
import { invalid, NotDoneError } from '../../shared/http/errors.ts';
import { isCommonPassword } from './common-passwords.ts';

/** Argon2id, RFC 9106; the parameters are of OWASP ASVS 5, appendix C. Raising them re-hashes at sign-in. */
const PARAMETERS = { memoryCost: 47_104, timeCost: 1, parallelism: 1 } as const satisfies Options;

/** For unknown users. No password matches, and the check takes as long as for a user. */
const NOBODYS = `$argon2id$v=19$m=${PARAMETERS.memoryCost},t=${PARAMETERS.timeCost},p=${PARAMETERS.parallelism}$${'A'.repeat(22)}$${'A'.repeat(43)}`;

/** A request must be answered within a second, also when a hundred people sign in at once. */
const WAIT_MS_MAX = 700;
/** Weight of the newest duration in the running mean. */
const NEWEST = 0.2;
const FIRST_GUESS_MS = 100;

export interface Passwords {
  hash(password: string): Promise<string>;
  /** @param stored undefined for an unknown user: takes as long, and is false */
  verify(stored: string | undefined, password: string): Promise<boolean>;
  /** Both take one slot. @returns undefined if `current` is wrong */
  replace(stored: string, current: string, next: string): Promise<string | undefined>;
  /** The stored hash is weaker than new ones. */
  isOutdated(stored: string): boolean;
}

/** @throws NotDoneError from each call that would wait too long */
export const createPasswords = (
  atOnceMax = Math.max(1, Math.floor(availableParallelism() / 2)),
): Passwords => {
  const limit = createLimit({ atOnceMax, waitingMax: Infinity, tooBusy });
  let running = 0;
  let meanMs = FIRST_GUESS_MS;
  const inTurn = async <Result>(work: () => Promise<Result>): Promise<Result> => {
    // Refused at once: the answer would be the same after the wait.
    if (Math.floor(running / atOnceMax) * meanMs > WAIT_MS_MAX) throw tooBusy();
    running += 1;
    try {
      return await limit(WAIT_MS_MAX, async () => {
        const startedAt = performance.now();
        try {
          return await work();
        } finally {
          meanMs += NEWEST * (performance.now() - startedAt - meanMs);
        }
      });
    } finally {
      running -= 1;
    }
  };
  return {
    hash: (password) => inTurn(() => hash(password, PARAMETERS)),
    verify: (stored, password) =>
      inTurn(async () => (await verify(stored ?? NOBODYS, password)) && stored !== undefined),
    replace: (stored, current, next) =>
      inTurn(async () => ((await verify(stored, current)) ? hash(next, PARAMETERS) : undefined)),
    isOutdated: (stored) => {
      const { memoryCost, timeCost, parallelism } = parseOptions(stored);
      return (
        memoryCost < PARAMETERS.memoryCost ||
        timeCost < PARAMETERS.timeCost ||
        parallelism < PARAMETERS.parallelism
      );
    },
  };
};

const tooBusy = (): NotDoneError =>
  new NotDoneError('Too many people sign in at this moment. Repeat the request after Retry-After.');

export interface KnownWords {
  readonly company?: string | undefined;
  /** The part of the address before the `@`. */
  readonly name: string;
}

/** @throws ApiError VALIDATION_ERROR */
export const refuseGuessable = (field: string, password: string, { company, name }: KnownWords): void => {
  const words = [name, ...(company === undefined ? [] : [company])];
  if (guessableWordIn(password, words) !== undefined) {
    throw invalid(
      `${field} contains your name, your company's or the product's. Choose another password.`,
      field,
    );
  }
  if (isCommonPassword(password)) {
    throw invalid(`${field} is among the passwords that are tried first. Choose another one.`, field);
  }
};
