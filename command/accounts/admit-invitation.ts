import { rateLimited } from '../../shared/http/rate-limit-headers.ts';
import { isOver, type Limiter, type Standing } from '../../shared/limits/limiter.ts';
import type { KeyedDigest } from '../../shared/secrets/keyed-digest.ts';

/** @throws ApiError RATE_LIMITED */
export type AdmitInvitation = (customerId: number, emailKey: string) => Promise<void>;

/**
 * Invitations that are revoked at once are not open, but their mails were sent. The address is counted as a keyed
 * digest: counters may outlive the person's data.
 */
export const createAdmitInvitation =
  (limiter: Limiter, digest: KeyedDigest): AdmitInvitation =>
  async (customerId, emailKey) => {
    const address = (await digest(Buffer.from(`${customerId} ${emailKey}`))).toString('base64url');
    refuseOver(
      await limiter.count('invitedAddress', address),
      'The account has sent an invitation to this address shortly before.',
    );
    refuseOver(
      await limiter.count('invitations', String(customerId)),
      'The account has sent too many invitations.',
    );
  };

const refuseOver = (standing: Standing, what: string): void => {
  if (isOver(standing)) throw rateLimited(standing, what);
};
