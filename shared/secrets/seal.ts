import { createCipheriv, createDecipheriv, randomBytes } from 'node:crypto';
import type { KeyRing } from './key-ring.ts';

export interface Ciphertext {
  readonly keyId: string;
  readonly bytes: Buffer;
}

/** Its key is not in the ring, the purpose differs, or the bytes were changed. */
export class UnreadableSecretError extends Error {
  override readonly name = 'UnreadableSecretError';
}

const CIPHER = 'aes-256-gcm';
const NONCE_BYTES = 12;
const TAG_BYTES = 16;
/** Without this length, Node accepts tags of 4 bytes, which can be guessed. */
const options = { authTagLength: TAG_BYTES };

/** The text can be decrypted only for the same purpose, e.g. the id of its row. */
export const seal = ([key]: KeyRing, purpose: string, text: string): Ciphertext => {
  const nonce = randomBytes(NONCE_BYTES);
  const cipher = createCipheriv(CIPHER, key.bytes, nonce, options);
  cipher.setAAD(Buffer.from(purpose));
  const ciphertext = Buffer.concat([cipher.update(text, 'utf8'), cipher.final()]);
  return { keyId: key.id, bytes: Buffer.concat([nonce, cipher.getAuthTag(), ciphertext]) };
};

/** @throws UnreadableSecretError */
export const unseal = (keys: KeyRing, purpose: string, { keyId, bytes }: Ciphertext): string => {
  const key = keys.find(({ id }) => id === keyId);
  if (key === undefined) throw new UnreadableSecretError(`no key ${keyId}`);
  try {
    const decipher = createDecipheriv(CIPHER, key.bytes, bytes.subarray(0, NONCE_BYTES), options);
    decipher.setAAD(Buffer.from(purpose));
    decipher.setAuthTag(bytes.subarray(NONCE_BYTES, NONCE_BYTES + TAG_BYTES));
    const text = [decipher.update(bytes.subarray(NONCE_BYTES + TAG_BYTES)), decipher.final()];
    return Buffer.concat(text).toString('utf8');
  } catch (error) {
    throw new UnreadableSecretError('the secret cannot be decrypted', { cause: error });
  }
};
