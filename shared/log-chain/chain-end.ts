import type { Pool } from 'pg';
import { comparePositions, START } from '../event-store/event-store.ts';
import {
  beginning,
  isInChain,
  isSignedBefore,
  lastCheckpoint,
  signedText,
  type ChainEnd,
  type Checkpoint,
} from './checkpoints.ts';
import type { Clock } from '../async/clock.ts';
import type { LogBytes } from './log-bytes.ts';
import { isAnyKeyKept, isNameTaken, type LogKeys } from './log-keys.ts';

export interface SealOptions {
  readonly pool: Pool;
  readonly log: LogBytes;
  readonly keys: LogKeys;
  /** Tells when a checkpoint is sealed. */
  readonly clock: Clock;
  readonly signal?: AbortSignal;
}

/** Why nothing is sealed: each may be an attack, and none goes away by itself unless somebody puts it right. */
export const refusals = [
  'forged-end',
  'unsigned-end',
  'unknown-key',
  'no-key',
  'key-name-taken',
  'checkpoints-gone',
  'own-seal-gone',
  'other-store',
  'log-behind',
  'log-gap',
  'unreadable-event',
] as const;
export type Refusal = (typeof refusals)[number];

/** The chain must not be extended: what is there would be vouched for by the next signature. */
export class SealRefusedError extends Error {
  override readonly name = 'SealRefusedError';
  readonly reason: Refusal;

  constructor(reason: Refusal, message: string, cause?: Error) {
    super(message, { cause });
    this.reason = reason;
  }
}

/** What an operator has said, and what this process knows by itself. */
export interface SealHow {
  /** Begin another chain behind the newest one, whatever that ends with. */
  readonly newChain?: boolean;
  /** Sign behind an end that is unsigned, or signed with a key that the settings do not know. */
  readonly adopt?: boolean;
  /** Where this process saw the chain end last: it must still hold that. */
  readonly known?: ChainEnd | undefined;
}

export interface TrustedEnd {
  readonly end: ChainEnd;
  /** Only the operator's word makes it good. */
  readonly adopted: boolean;
}

/**
 * Where the newest chain ends, if it may be gone on with: of what is sealed behind it, a signature vouches for all.
 * @throws SealRefusedError
 */
export const trustedEnd = async (options: SealOptions, how: SealHow): Promise<TrustedEnd> => {
  const { pool, log, keys } = options;
  const { known } = how;
  if (await isNameTaken(pool, keys)) {
    const name = keys.current?.keyId ?? '';
    throw new SealRefusedError(
      'key-name-taken',
      `LOG_SIGNING_KEYS: another key was named ${name} before (table log_keys); give this one a name of its own`,
    );
  }
  // In this order: a key comes into the table behind its first checkpoint.
  const wasSigned = await isAnyKeyKept(pool);
  const last = await lastCheckpoint(pool);
  // Behind that: what is removed between the two is missed now, or is still known the next time.
  if (known !== undefined && known.number > 0 && !(await isInChain(pool, known))) {
    throw new SealRefusedError(
      'own-seal-gone',
      `chain ${known.chain} does not hold checkpoint ${known.number} (${known.last}=${known.hash.toString('hex')}) ` +
        'any more, which this process saw there: checkpoints were removed or replaced',
    );
  }
  if (how.newChain === true) {
    const identity = { chain: (last?.chain ?? 0) + 1, format: log.format };
    return { end: beginning(identity, last), adopted: false };
  }
  if (last === undefined) {
    if (wasSigned) {
      throw new SealRefusedError(
        'checkpoints-gone',
        'there is no checkpoint, but log_keys says that some were signed: they were removed. Bring them back, or begin ' +
          'anew with `exchange log seal --new-chain`',
      );
    }
    return { end: beginning({ chain: 1, format: log.format }), adopted: false };
  }
  assertSameStore(options, last);
  const adopted = await assertTrusted(options, last, how.adopt === true);
  const head = await log.head();
  if (comparePositions(last.last, head) > 0) {
    throw new SealRefusedError(
      'log-behind',
      `chain ${last.chain} ends at ${last.last}, and the log at ${head === START ? 'its start' : head}: an older log ` +
        'was restored, or its end was cut off',
    );
  }
  return { end: last, adopted };
};

const assertSameStore = ({ log }: SealOptions, { chain, format }: ChainEnd): void => {
  if (format === log.format) return;
  throw new SealRefusedError(
    'other-store',
    `chain ${chain} is over a log of another store (${format}, this is ${log.format}): ` +
      'verify it there, then begin a new one with `exchange log seal --new-chain`',
  );
};

const adoption = 'verify the log, then say so with `exchange log seal --adopt`';

/** @returns whether it is good by the operator's word alone @throws SealRefusedError */
const assertTrusted = async (
  { pool, keys }: SealOptions,
  last: Checkpoint,
  adopt: boolean,
): Promise<boolean> => {
  const where = `checkpoint ${last.number} of chain ${last.chain}, where it ends (${last.last}),`;
  const found = keys.check(signedText(last), last.signature);
  if (found === 'invalid')
    throw new SealRefusedError('forged-end', `${where} was forged: its signature is not of what it says`);
  // Nobody's word makes that good: verifying would call it broken ever after.
  if (found === 'unsigned' && (await isSignedBefore(pool, last.chain, last.number))) {
    throw new SealRefusedError(
      'forged-end',
      `${where} is not signed, and one before it is: no process of this service has written it`,
    );
  }
  if (keys.current === undefined) {
    if (found === 'unsigned' && !adopt) return false;
    throw new SealRefusedError(
      'no-key',
      `${where} ${found === 'unsigned' ? 'is to be signed' : 'is signed'}, and LOG_SIGNING_KEYS is not set here`,
    );
  }
  switch (found) {
    case 'valid':
      return false;
    case 'unsigned':
    case 'unknown':
      if (adopt) return true;
      throw found === 'unsigned'
        ? new SealRefusedError('unsigned-end', `${where} is not signed, whoever made it: ${adoption}`)
        : new SealRefusedError(
            'unknown-key',
            `${where} is signed with the key ${last.signature?.keyId ?? ''}, which the settings do not know: put its ` +
              `public key into LOG_VERIFY_KEYS, or ${adoption}`,
          );
    default:
      return found satisfies never;
  }
};
