import { createCipheriv, createDecipheriv, createHmac, hkdfSync, timingSafeEqual } from 'node:crypto';
import { loadOnce, type KeyRing } from './key-ring.ts';

export interface TextSealer {
  /** The same text has the same token while the first key stays. @param context not part of it, e.g. the account */
  seal(text: string, context: string): Promise<string>;
  /** Undefined for a token of another context, or one that was changed. */
  open(token: string, context: string): Promise<string | undefined>;
}

const TOKEN = /^[A-Za-z0-9_-]{22,1000}$/;
const TAG_BYTES = 16;
const KEY_BYTES = 32;

/**
 * Unlike `signed-text.ts`, the token does not show the text. The authentication tag is also the IV, so no
 * number of tokens makes a nonce repeat with another text (the construction of SIV, RFC 5297, with HMAC).
 */
export const createTextSealer = (ask: () => Promise<KeyRing>, purpose: string): TextSealer => {
  const keys = loadOnce(async () => (await ask()).map(({ bytes }) => derivedKeys(bytes, purpose)));
  return {
    seal: async (text, context) => {
      const [first] = await keys();
      if (first === undefined) throw new Error('the key ring has no key');
      const tag = tagOf(first, text, context);
      const bytes = createCipheriv('aes-256-ctr', first.encryption, tag).update(text, 'utf8');
      return Buffer.concat([tag, bytes]).toString('base64url');
    },
    open: async (token, context) => {
      const sealed = Buffer.from(token, 'base64url');
      // The last letter has unused bits, and variants of it must fail.
      if (!TOKEN.test(token) || sealed.toString('base64url') !== token) return undefined;
      const tag = sealed.subarray(0, TAG_BYTES);
      for (const key of await keys()) {
        const decipher = createDecipheriv('aes-256-ctr', key.encryption, tag);
        const text = decipher.update(sealed.subarray(TAG_BYTES)).toString('utf8');
        if (timingSafeEqual(tag, tagOf(key, text, context))) return text;
      }
      return undefined;
    },
  };
};

interface DerivedKeys {
  readonly authentication: Buffer;
  readonly encryption: Buffer;
}

/** `purpose`: the same keys also encrypt secrets. */
const derivedKeys = (key: Buffer, purpose: string): DerivedKeys => {
  const both = Buffer.from(hkdfSync('sha256', key, '', `sealed text: ${purpose}`, 2 * KEY_BYTES));
  return { authentication: both.subarray(0, KEY_BYTES), encryption: both.subarray(KEY_BYTES) };
};

/** The length keeps apart pairs of context and text that have the same characters. */
const tagOf = ({ authentication }: DerivedKeys, text: string, context: string): Buffer =>
  createHmac('sha256', authentication)
    .update(`${context.length}|${context}${text}`)
    .digest()
    .subarray(0, TAG_BYTES);
