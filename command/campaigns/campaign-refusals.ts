import type { CampaignRefusal } from '../../domain/campaigns/campaign.ts';
import { ApiError, notFound, staleRevision } from '../../shared/http/errors.ts';
import { advertiserRefused } from '../advertisers/load.ts';

/** Every reason a campaign command can be refused for, and what the caller is told. */
export const campaignRefused = (refusal: CampaignRefusal): ApiError => {
  switch (refusal.reason) {
    case 'not-found':
      return notFound('campaign');
    case 'already-exists':
      return new ApiError({ code: 'CONFLICT', message: 'This campaign exists already. Read it instead.' });
    case 'advertiser-archived':
      return advertiserRefused({ reason: 'archived' });
    case 'flight-over':
      return new ApiError({
        code: 'CONFLICT',
        message: 'The flight is over. Give the campaign a flight that ends in the future, then repeat.',
        field: 'flight.endAt',
      });
    case 'wrong-phase':
      return new ApiError({
        code: 'CONFLICT',
        message: `The campaign is ${refusal.phase}. This is possible only while it is ${refusal.wanted.join(', ')}.`,
        details: { phase: refusal.phase },
      });
    case 'stale':
      return staleRevision('campaign', refusal.expectedRevision, refusal.currentRevision);
    case 'other-currency':
      return advertiserRefused(refusal);
    case 'unchangeable':
      return new ApiError({
        code: 'VALIDATION_ERROR',
        message: `${refusal.member} cannot be changed so. Leave it out, or send its current value.`,
        field: refusal.member,
      });
    default:
      return refusal satisfies never;
  }
};
