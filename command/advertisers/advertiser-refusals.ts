import type { AdvertiserRefusal } from '../../domain/advertisers/advertiser.ts';
import { ApiError, notFound } from '../../shared/http/errors.ts';

/** Every reason an advertiser command can be refused for, and what the caller is told. */
export const advertiserRefused = (refusal: AdvertiserRefusal): ApiError => {
  switch (refusal.reason) {
    case 'not-found':
      return notFound('advertiser');
    case 'not-archived':
      return new ApiError({ code: 'NOT_FOUND', message: 'No archived advertiser with this id.' });
    case 'already-exists':
      return new ApiError({ code: 'CONFLICT', message: 'This advertiser exists already. Read it instead.' });
    case 'archived':
      return new ApiError({
        code: 'CONFLICT',
        message: 'The advertiser is archived. Restore it first, then repeat the change.',
      });
    case 'currency-locked':
      return new ApiError({
        code: 'CONFLICT',
        message:
          'The currency is locked since the first campaign. Leave it out, or create another advertiser.',
        field: 'primaryCurrency',
      });
    case 'other-currency':
      return new ApiError({
        code: 'VALIDATION_ERROR',
        message: `The advertiser's currency is ${refusal.currency}. Leave the currency out, or send that one.`,
        field: 'budget.currency',
      });
    case 'unchangeable':
      return new ApiError({
        code: 'VALIDATION_ERROR',
        message: `${refusal.member} cannot be changed. Leave it out, or send its current value.`,
        field: refusal.member,
      });
    default:
      return refusal satisfies never;
  }
};
