import { createHash } from 'node:crypto';
import type { KeyRing } from '../../../shared/secrets/key-ring.ts';
import { createKeyedDigest } from '../../../shared/secrets/keyed-digest.ts';

/** 43 base64url characters. A mail that is composed twice has the same link. */
export type LinkTokenOf = (mailId: string) => Promise<string>;

export const createLinkTokenOf = (keys: () => Promise<KeyRing>): LinkTokenOf => {
  const digest = createKeyedDigest('mail-link', keys);
  return async (mailId) => (await digest(Buffer.from(mailId))).toString('base64url');
};

/** The database contains only the hash: its reader cannot use the link. */
export const hashOfToken = (token: string): Buffer => createHash('sha256').update(token).digest();
