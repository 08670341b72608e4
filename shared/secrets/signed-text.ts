import { createHmac, timingSafeEqual } from 'node:crypto';
import { askedOnce, type KeyRing } from './key-ring.ts';

/** Text that goes to a client and comes back as it was, or is not taken. */
export interface TextSigner {
  /**
   * The same text and context give the same token, as long as the key is in use.
   * @param context what the token is good for besides, e.g. whose it is; it is not in the token
   */
  sign(text: string, context?: string): Promise<string>;
  /** The text of a token that one of our keys has signed for this purpose and context. */
  verify(token: string, context?: string): Promise<string | undefined>;
}

const TOKEN = /^([A-Za-z0-9_-]{1,1000})\.[A-Za-z0-9_-]{43}$/;

/**
 * Tokens of the form `base64url(text).base64url(HMAC-SHA256)`.
 * @param ask for the keys of the installation; the first one signs, all of them verify
 * @param purpose the keys encrypt secrets, too: what signs is made of them for this purpose alone
 */
export const createTextSigner = (ask: () => Promise<KeyRing>, purpose: string): TextSigner => {
  const keys = askedOnce(ask);
  const signed = (payload: string, context: string, key: Buffer): string => {
    const own = createHmac('sha256', key).update(purpose).digest();
    // No payload holds a line break, so that no payload and context can be taken for others.
    const bound = context === '' ? payload : `${payload}\n${context}`;
    return `${payload}.${createHmac('sha256', own).update(bound).digest('base64url')}`;
  };
  return {
    sign: async (text, context = '') => {
      const [{ bytes }] = await keys();
      return signed(Buffer.from(text).toString('base64url'), context, bytes);
    },
    verify: async (token, context = '') => {
      const payload = TOKEN.exec(token)?.[1];
      if (payload === undefined) return undefined;
      const given = Buffer.from(token);
      // Compared as text: the last letter of a signature has bits that mean nothing, and may not be another one.
      const isOurs = (await keys()).some(({ bytes }) =>
        timingSafeEqual(given, Buffer.from(signed(payload, context, bytes))),
      );
      return isOurs ? Buffer.from(payload, 'base64url').toString('utf8') : undefined;
    },
  };
};
