import { createHmac } from 'node:crypto';
import { askedOnce, type KeyRing } from './key-ring.ts';

/** A digest that only who has the installation's keys can make: nobody else can try out what it was made of. */
export type KeyedDigest = (bytes: Buffer) => Promise<Buffer>;

/**
 * Made with the key whose id sorts first, wherever it stands: ids that go up, like dates, leave kept digests what they
 * were until the old key is taken away, and all processes make the same ones while only some know a new key.
 * @param purpose what it is for: of the same key, another purpose has other digests
 */
export const createKeyedDigest = (purpose: string, ask: () => Promise<KeyRing>): KeyedDigest => {
  const keys = askedOnce(ask);
  return async (bytes) => {
    const { bytes: key } = (await keys()).reduce((one, other) => (other.id < one.id ? other : one));
    const own = createHmac('sha256', key).update(purpose).digest();
    return createHmac('sha256', own).update(bytes).digest();
  };
};
