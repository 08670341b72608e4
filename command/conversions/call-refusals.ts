import type { CallRefusal } from '../../domain/conversions/admit-call.ts';
import { ApiError, notFound } from '../../shared/http/errors.ts';

export const callRefused = ({ reason }: CallRefusal): ApiError => {
  switch (reason) {
    case 'no-source':
      return notFound('event source');
    case 'source-archived':
      return new ApiError({
        code: 'CONFLICT',
        message: 'The event source is deleted. Sync it again first, then repeat the call.',
      });
    case 'advertiser-archived':
      return new ApiError({
        code: 'CONFLICT',
        message: 'The advertiser is archived. Restore it first, then repeat the call.',
      });
    case 'other-test-code':
      return new ApiError({
        code: 'VALIDATION_ERROR',
        message: "This is not the event source's test code. Send the one that it has.",
        field: 'testEventCode',
      });
    default:
      return reason satisfies never;
  }
};

export const severalSources = (): ApiError =>
  new ApiError({
    code: 'VALIDATION_ERROR',
    message: 'Several advertisers have an event source of this key. Say which with advertiserId.',
    field: 'advertiserId',
  });
