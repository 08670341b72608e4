import { createCipheriv, createDecipheriv, createHash, hkdfSync, randomBytes } from 'node:crypto';

/** `bx_<key id>_<secret>` (decisions.md 1.4). The id is public; the secret is kept only as its SHA-256. */
const API_KEY = /^bx_([A-Za-z0-9]{16})_([A-Za-z0-9_-]{43})$/;

export interface ApiKey {
  /** Shown to its owner once, never stored. */
  readonly key: string;
  readonly keyId: string;
  readonly maskedKey: string;
  readonly secretHash: Buffer;
}

// 256 bits of randomness need no slow hash: there is nothing to guess.
const hashOf = (secret: string): Buffer => createHash('sha256').update(secret).digest();

/** A new key with 256 bits of secret. */
export const generateApiKey = (keyId: string = publicId(randomBytes(32).toString('base64url'))): ApiKey =>
  apiKeyOf(keyId, randomBytes(32).toString('base64url'));

/** The key of an id and its secret, as they were generated. */
export const apiKeyOf = (keyId: string, secret: string): ApiKey => ({
  key: `bx_${keyId}_${secret}`,
  keyId,
  maskedKey: `bx_${keyId}_****${secret.slice(-4)}`,
  secretHash: hashOf(secret),
});

/** The id of the key that a command issues: the same when the command is repeated. */
export const keyIdOfCommand = (commandId: string): string => publicId(`api-key ${commandId}`);

const publicId = (seed: string): string => {
  const digest = createHash('sha512').update(seed).digest('base64url');
  const letters = digest.replaceAll(/[^A-Za-z0-9]/g, '');
  return letters.length >= 16 ? letters.slice(0, 16) : publicId(digest);
};

/** Encrypts for whoever presents the same credential again, and for nobody else. */
export interface Sealer {
  /** @param purpose binds the sealed text to it, e.g. a command's id */
  seal(purpose: string, text: string): Buffer;
  /** Undefined when it was sealed with another credential or for another purpose. */
  unseal(purpose: string, sealed: Buffer): string | undefined;
}

const IV_BYTES = 12;
const TAG_BYTES = 16;

/**
 * AES-256-GCM under a key derived from a credential, of which only the hash is stored: what is sealed cannot be
 * read from the database alone. The credential must hold 128 bits of randomness or more.
 */
export const sealerOf = (credential: string): Sealer => {
  const keyOf = (purpose: string): Buffer =>
    Buffer.from(hkdfSync('sha256', credential, purpose, 'buyer-exchange sealed answer', 32));
  return {
    seal: (purpose, text) => {
      const iv = randomBytes(IV_BYTES);
      const cipher = createCipheriv('aes-256-gcm', keyOf(purpose), iv);
      const sealed = Buffer.concat([cipher.update(text, 'utf8'), cipher.final()]);
      return Buffer.concat([iv, cipher.getAuthTag(), sealed]);
    },
    unseal: (purpose, sealed) => {
      const iv = sealed.subarray(0, IV_BYTES);
      // Without the length a tag of four bytes would do.
      const options = { authTagLength: TAG_BYTES };
      const decipher = createDecipheriv('aes-256-gcm', keyOf(purpose), iv, options);
      try {
        decipher.setAuthTag(sealed.subarray(IV_BYTES, IV_BYTES + TAG_BYTES));
        return (
          decipher.update(sealed.subarray(IV_BYTES + TAG_BYTES), undefined, 'utf8') + decipher.final('utf8')
        );
      } catch {
        // Another credential's: the tag does not fit.
        return undefined;
      }
    },
  };
};

/** The parts of a presented key; undefined when it is not of the form. */
export const parseApiKey = (presented: string): { keyId: string; secretHash: Buffer } | undefined => {
  const match = API_KEY.exec(presented);
  if (match?.[1] === undefined || match[2] === undefined) return undefined;
  return { keyId: match[1], secretHash: hashOf(match[2]) };
};
