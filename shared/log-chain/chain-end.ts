import type { Pool } from 'pg';
import { comparePositions, START } from '../event-store/event-store.ts';
import {
  chainStart,
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
  readonly clock: Clock;
  readonly signal?: AbortSignal;
}

/** Each may be an attack, so an operator must resolve it. */
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

export class SealRefusedError extends Error {
  override readonly name = 'SealRefusedError';
  readonly reason: Refusal;

  constructor(reason: Refusal, message: string, cause?: Error) {
    super(message, { cause });
    this.reason = reason;
  }
}

export interface SealRequest {
  readonly newChain?: boolean;
  /** Sign an end that is unsigned, or signed with an unknown key. */
  readonly adopt?: boolean;
  /** The chain must still contain the end that this process last saw. */
  readonly known?: ChainEnd | undefined;
}

export interface TrustedEnd {
  readonly end: ChainEnd;
  readonly adopted: boolean;
}

/** The next signature vouches for everything before it. @throws SealRefusedError */
export const trustedEnd = async (options: SealOptions, request: SealRequest): Promise<TrustedEnd> => {
  const { pool, log, keys } = options;
  const { known } = request;
  if (await isNameTaken(pool, keys)) {
    const name = keys.current?.keyId ?? '';
    throw new SealRefusedError(
      'key-name-taken',
      `LOG_SIGNING_KEYS: another key was named ${name} before (table log_keys); give this key a different name`,
    );
  }
  // Query the keys first: a key is stored after its first checkpoint.
  const wasSigned = await isAnyKeyKept(pool);
  const last = await lastCheckpoint(pool);
  // After reading `last`: a checkpoint removed between the two is missed now or on the next run.
  if (known !== undefined && known.number > 0 && !(await isInChain(pool, known))) {
    throw new SealRefusedError(
      'own-seal-gone',
      `checkpoint ${known.number} (${known.last}=${known.hash.toString('hex')}), which this process saw in ` +
        `chain ${known.chain}, is missing: checkpoints were removed or replaced`,
    );
  }
  if (request.newChain === true) {
    const identity = { chain: (last?.chain ?? 0) + 1, format: log.format };
    return { end: chainStart(identity, last), adopted: false };
  }
  if (last === undefined) {
    if (wasSigned) {
      throw new SealRefusedError(
        'checkpoints-gone',
        'there is no checkpoint, but log_keys shows that some were signed: they were removed. Restore them, or ' +
          'start a new chain with `exchange log seal --new-chain`',
      );
    }
    return { end: chainStart({ chain: 1, format: log.format }), adopted: false };
  }
  assertSameStore(options, last);
  const adopted = await assertTrusted(options, last, request.adopt === true);
  const head = await log.head();
  if (comparePositions(last.last, head) > 0) {
    throw new SealRefusedError(
      'log-behind',
      `chain ${last.chain} ends at ${last.last}, but the log ends at ${head === START ? 'its start' : head}: an ` +
        'older log was restored, or its end was cut off',
    );
  }
  return { end: last, adopted };
};

const assertSameStore = ({ log }: SealOptions, { chain, format }: ChainEnd): void => {
  if (format === log.format) return;
  throw new SealRefusedError(
    'other-store',
    `chain ${chain} belongs to the log of another store (${format}, this is ${log.format}): ` +
      'verify it there, then start a new chain with `exchange log seal --new-chain`',
  );
};

const adoption = 'verify the log, then accept the checkpoint with `exchange log seal --adopt`';

/** @throws SealRefusedError */
const assertTrusted = async (
  { pool, keys }: SealOptions,
  last: Checkpoint,
  adopt: boolean,
): Promise<boolean> => {
  const where = `checkpoint ${last.number} of chain ${last.chain}, where it ends (${last.last}),`;
  const found = keys.check(signedText(last), last.signature);
  if (found === 'invalid')
    throw new SealRefusedError('forged-end', `${where} was forged: its signature does not match its content`);
  // `adopt` cannot repair this: verification would report the chain as broken forever.
  if (found === 'unsigned' && (await isSignedBefore(pool, last.chain, last.number))) {
    throw new SealRefusedError(
      'forged-end',
      `${where} is not signed, but an earlier one is: this service did not write it`,
    );
  }
  if (keys.current === undefined) {
    if (found === 'unsigned' && !adopt) return false;
    throw new SealRefusedError(
      'no-key',
      `${where} ${found === 'unsigned' ? 'must be signed' : 'is signed'}, but LOG_SIGNING_KEYS is not set here`,
    );
  }
  switch (found) {
    case 'valid':
      return false;
    case 'unsigned':
    case 'unknown':
      if (adopt) return true;
      throw found === 'unsigned'
        ? new SealRefusedError(
            'unsigned-end',
            `${where} is not signed, so its author is unknown: ${adoption}`,
          )
        : new SealRefusedError(
            'unknown-key',
            `${where} is signed with the key ${last.signature?.keyId ?? ''}, which is not in the settings: put its ` +
              `public key into LOG_VERIFY_KEYS, or ${adoption}`,
          );
    default:
      return found satisfies never;
  }
};
