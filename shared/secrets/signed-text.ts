import { createHmac, timingSafeEqual } from 'node:crypto';
import { loadOnce, type KeyRing } from './key-ring.ts';

export interface TextSigner {
  /** @param context not part of the token, e.g. the account */
  sign(text: string, context?: string): Promise<string>;
  verify(token: string, context?: string): Promise<string | undefined>;
}

const TOKEN = /^([A-Za-z0-9_-]{1,1000})\.[A-Za-z0-9_-]{43}$/;

/** `base64url(text).base64url(HMAC-SHA256)`. `purpose`: the same keys also encrypt secrets. */
export const createTextSigner = (ask: () => Promise<KeyRing>, purpose: string): TextSigner => {
  const keys = loadOnce(ask);
  const signed = (payload: string, context: string, key: Buffer): string => {
    const own = createHmac('sha256', key).update(purpose).digest();
    // The payload contains no line break, so two pairs of payload and context never give the same text.
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
      // The last base64url letter of a signature has unused bits, and variants of it must fail.
      const isOurs = (await keys()).some(({ bytes }) =>
        timingSafeEqual(given, Buffer.from(signed(payload, context, bytes))),
      );
      return isOurs ? Buffer.from(payload, 'base64url').toString('utf8') : undefined;
    },
  };
};
