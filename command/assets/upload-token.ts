import { z } from 'zod';
import type { KeyRing } from '../../shared/secrets/key-ring.ts';
import { createTextSigner } from '../../shared/secrets/signed-text.ts';

/** What an upload token allows: these bytes to this place, until then. */
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
  /** The same grant gives the same token, as long as the key is in use. */
  issue(grant: UploadGrant): Promise<string>;
  /** The grant of a token that one of our keys has signed; whether it is still of use is the caller's to judge. */
  verify(token: string): Promise<UploadGrant | undefined>;
}

/**
 * Tokens that are the only credential of an upload: `base64url(grant).base64url(HMAC-SHA256)` (decisions.md E12/E13).
 * @param ask for the keys of the installation; the first one signs, all of them verify
 */
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
    // Signed by another version of the program.
    return undefined;
  }
};
