import { z } from 'zod';
import type { KeyRing } from '../../shared/secrets/key-ring.ts';
import { createTextSigner } from '../../shared/secrets/signed-text.ts';

const UploadGrant = z.strictObject({
  uploadId: z.string(),
  customerId: z.int(),
  advertiserId: z.int(),
  maxBytes: z.int(),
  mimeType: z.string(),
  /** Seconds since the epoch. */
  exp: z.int(),
});
export type UploadGrant = z.infer<typeof UploadGrant>;

export interface UploadTokens {
  /** Returns the same token for the same grant while the signing key is in use. */
  issue(grant: UploadGrant): Promise<string>;
  /** The caller checks the expiry. */
  verify(token: string): Promise<UploadGrant | undefined>;
}

/** `base64url(grant).base64url(HMAC-SHA256)`. The first key signs, all keys verify. */
export const createUploadTokens = (ask: () => Promise<KeyRing>): UploadTokens => {
  const signer = createTextSigner(ask, 'upload-token');
  return {
    issue: (grant) => signer.sign(JSON.stringify(UploadGrant.parse(grant))),
    verify: async (token) => {
      const text = await signer.verify(token);
      return text === undefined ? undefined : grantOf(text);
    },
  };
};

const grantOf = (text: string): UploadGrant | undefined => {
  try {
    return UploadGrant.parse(JSON.parse(text));
  } catch {
    return undefined;
  }
};
