import { createCipheriv, createDecipheriv, randomBytes } from 'node:crypto';
import type { KeyRing } from './key-ring.ts';

export interface Sealed {
  /** Of the key that opens it. */
  readonly keyId: string;
  /** Nonce, tag and ciphertext. */
  readonly bytes: Buffer;
}

/** The secret cannot be read: its key is not among ours, or it is not what was written for this purpose. */
export class UnreadableSecretError extends Error {
  override readonly name = 'UnreadableSecretError';
}

const CIPHER = 'aes-256-gcm';
const NONCE_BYTES = 12;
const TAG_BYTES = 16;
/** Otherwise a tag of four bytes would do: one that can be guessed. */
const options = { authTagLength: TAG_BYTES };

/**
 * Encrypts a text with the first key.
 * @param purpose what it is for, e.g. its row: it can be opened for nothing else
 */
export const seal = ([key]: KeyRing, purpose: string, text: string): Sealed => {
  const nonce = randomBytes(NONCE_BYTES);
  const cipher = createCipheriv(CIPHER, key.bytes, nonce, options);
  cipher.setAAD(Buffer.from(purpose));
  const ciphertext = Buffer.concat([cipher.update(text, 'utf8'), cipher.final()]);
  return { keyId: key.id, bytes: Buffer.concat([nonce, cipher.getAuthTag(), ciphertext]) };
};

/** @throws UnreadableSecretError */
export const unseal = (keys: KeyRing, purpose: string, { keyId, bytes }: Sealed): string => {
  const key = keys.find(({ id }) => id === keyId);
  if (key === undefined) throw new UnreadableSecretError(`no key ${keyId}`);
  try {
    const decipher = createDecipheriv(CIPHER, key.bytes, bytes.subarray(0, NONCE_BYTES), options);
    decipher.setAAD(Buffer.from(purpose));
    decipher.setAuthTag(bytes.subarray(NONCE_BYTES, NONCE_BYTES + TAG_BYTES));
    const text = [decipher.update(bytes.subarray(NONCE_BYTES + TAG_BYTES)), decipher.final()];
    return Buffer.concat(text).toString('utf8');
  } catch (error) {
    throw new UnreadableSecretError('not what was sealed', { cause: error });
  }
};
