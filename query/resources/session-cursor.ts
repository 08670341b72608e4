import { ApiError } from '../../shared/http/errors.ts';
import type { KeyRing } from '../../shared/secrets/key-ring.ts';
import { createTextSigner } from '../../shared/secrets/signed-text.ts';

export interface SessionPlace {
  readonly updatedAt: string;
  readonly id: string;
}

/** Valid for one campaign's list, with any page size. */
export interface SessionCursors {
  of(customerId: number, campaignId: string, place: SessionPlace): Promise<string>;
  /** @throws ApiError VALIDATION_ERROR if the cursor belongs to another list or was modified */
  read(customerId: number, campaignId: string, cursor: string): Promise<SessionPlace>;
}

/** `base64url(updatedAt|id)` with a tag over it, the account and the campaign. */
export const createSessionCursors = (ask: () => Promise<KeyRing>): SessionCursors => {
  const signer = createTextSigner(ask, 'creative-sessions-cursor');
  const list = (customerId: number, campaignId: string): string => `${customerId}|${campaignId}`;
  return {
    of: (customerId, campaignId, { updatedAt, id }) =>
      signer.sign(`${updatedAt}|${id}`, list(customerId, campaignId)),
    read: async (customerId, campaignId, cursor) => {
      const text = await signer.verify(cursor, list(customerId, campaignId));
      const [updatedAt, id] = text?.split('|') ?? [];
      if (updatedAt === undefined || id === undefined) throw badCursor();
      return { updatedAt, id };
    },
  };
};

const badCursor = (): ApiError =>
  new ApiError({
    code: 'VALIDATION_ERROR',
    message:
      'This cursor was not given out for this list. Send the nextCursor of the page before, or none for the first page.',
    field: 'cursor',
  });
