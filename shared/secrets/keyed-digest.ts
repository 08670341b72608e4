import { createHmac } from 'node:crypto';
import { loadOnce, type KeyRing } from './key-ring.ts';

/** An HMAC with a key of the installation. Without the key, an attacker cannot test guesses of the input. */
export type KeyedDigest = (bytes: Buffer) => Promise<Buffer>;

/**
 * Uses the key whose id sorts first, regardless of its place in the ring. With ascending ids, such as dates, digests
 * stay the same until the oldest key is removed. Processes agree while only some of them have a new key.
 * @param purpose separates digests: the same bytes have another digest for another purpose
 */
export const createKeyedDigest = (purpose: string, ask: () => Promise<KeyRing>): KeyedDigest => {
  const keys = loadOnce(ask);
  return async (bytes) => {
    const { bytes: key } = (await keys()).reduce((one, other) => (other.id < one.id ? other : one));
    const own = createHmac('sha256', key).update(purpose).digest();
    return createHmac('sha256', own).update(bytes).digest();
  };
};
