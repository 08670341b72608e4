import { shownCreativeId } from '../../domain/creatives/resource.ts';
import type { CreativeRefusal } from '../../domain/creatives/creative.ts';
import { ApiError, NotDoneError, notFound, staleRevision } from '../../shared/http/errors.ts';
import { advertiserRefused } from '../advertisers/load.ts';

export const creativeRefused = (refusal: CreativeRefusal): ApiError => {
  switch (refusal.reason) {
    case 'not-found':
    case 'not-in-campaign':
      return notFound('creative');
    case 'already-exists':
      return new ApiError({ code: 'CONFLICT', message: 'This creative exists already. Read it instead.' });
    case 'archived':
      return new ApiError({
        code: 'CONFLICT',
        message: 'The creative is archived. Duplicate it and change the copy.',
      });
    case 'not-ready':
      return new ApiError({
        code: 'CONFLICT',
        message: 'The creative is a draft: its format needs more. Complete it first.',
      });
    case 'not-submitted':
      return notFound("seller's review of the creative");
    case 'wrong-review':
      return new ApiError({
        code: 'CONFLICT',
        message: `The review is at ${refusal.status}. ${nextOf(refusal.wanted)}`,
        field: 'status',
        details: { status: refusal.status, wanted: refusal.wanted },
      });
    case 'advertiser-archived':
      return advertiserRefused({ reason: 'archived' });
    case 'too-many-campaigns':
      return new ApiError({
        code: 'CONFLICT',
        message: `The creative is in ${refusal.limit} campaigns, which is the limit. Detach it from one first.`,
        details: { limit: refusal.limit },
      });
    case 'name-not-held':
      return new NotDoneError(
        'Other requests are changing the creative. Repeat the request after Retry-After.',
      );
    case 'stale':
      return staleRevision('creative', refusal.expectedRevision, refusal.currentRevision);
    case 'unchangeable':
      return new ApiError({
        code: 'VALIDATION_ERROR',
        message: `${refusal.member} cannot be changed to this value. Leave it out, or send its current value.`,
        field: refusal.member,
      });
    default:
      return refusal satisfies never;
  }
};

const nextOf = (wanted: readonly string[]): string =>
  wanted.length === 0
    ? 'Submit the creative to the seller again first.'
    : `From there it can become ${wanted.join(', ')}.`;

/** @param creativeId the creative with this name, if known for certain */
export const nameTaken = (name: string, creativeId: string | undefined): ApiError =>
  new ApiError({
    code: 'CONFLICT',
    message: `The campaign has a creative named "${Array.from(name).slice(0, 100).join('')}". Choose another name.`,
    field: 'name',
    ...(creativeId === undefined ? {} : { details: { creativeId: shownCreativeId(creativeId) } }),
  });

export const tooManyCreatives = (limit: number): ApiError =>
  new ApiError({
    code: 'CONFLICT',
    message: `The campaign has ${limit} creatives, which is the limit. Detach one first.`,
    details: { limit },
  });
