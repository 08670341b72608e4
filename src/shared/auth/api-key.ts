import { createHash } from 'node:crypto';
import { randomSecret } from '../ids.ts';

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
export const generateApiKey = (): ApiKey => {
  const keyId = publicId();
  const secret = randomSecret(32);
  return {
    key: `bx_${keyId}_${secret}`,
    keyId,
    maskedKey: `bx_${keyId}_****${secret.slice(-4)}`,
    secretHash: hashOf(secret),
  };
};

const publicId = (): string => {
  const letters = randomSecret(32).replaceAll(/[^A-Za-z0-9]/g, '');
  return letters.length >= 16 ? letters.slice(0, 16) : publicId();
};

/** The parts of a presented key; undefined when it is not of the form. */
export const parseApiKey = (presented: string): { keyId: string; secretHash: Buffer } | undefined => {
  const match = API_KEY.exec(presented);
  if (match?.[1] === undefined || match[2] === undefined) return undefined;
  return { keyId: match[1], secretHash: hashOf(match[2]) };
};
