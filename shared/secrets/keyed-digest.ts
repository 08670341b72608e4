import { createHmac } from 'node:crypto';
import { loadOnce, type KeyRing } from './key-ring.ts';

/** An HMAC: without the key, an attacker cannot test guesses of the input. */
export type KeyedDigest = (bytes: Buffer) => Promise<Buffer>;

/** Uses the key whose id sorts first: digests stay the same while only some processes have a newer key. */
export const createKeyedDigest = (purpose: string, ask: () => Promise<KeyRing>): KeyedDigest => {
  const keys = loadOnce(ask);
  return async (bytes) => {
    const { bytes: key } = (await keys()).reduce((one, other) => (other.id < one.id ? other : one));
    const own = createHmac('sha256', key).update(purpose).digest();
    return createHmac('sha256', own).update(bytes).digest();
  };
};
