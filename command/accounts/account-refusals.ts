import type { AccountRefusal } from '../../domain/accounts/account.ts';
import { ApiError, notFound } from '../../shared/http/errors.ts';

export const accountRefused = (refusal: AccountRefusal): ApiError => {
  switch (refusal.reason) {
    case 'already-open':
      return new ApiError({ code: 'CONFLICT', message: 'This account exists already.' });
    case 'no-such-account':
      return notFound('account');
    case 'no-such-user':
      return notFound('user');
    case 'role-of-other-accounts':
      return new ApiError({
        code: 'CONFLICT',
        message: refusal.isSellers
          ? "This is a seller's account: its users have the role seller."
          : "Only users of a seller's account have the role seller. Give another.",
        field: 'role',
      });
    case 'expires-in-the-past':
      return new ApiError({
        code: 'VALIDATION_ERROR',
        message: 'expiresAt is not in the future. Give a later time, or leave it out.',
        field: 'expiresAt',
      });
    case 'scope-beyond-role':
      return new ApiError({
        code: 'FORBIDDEN',
        message: `The role of the key's user does not allow ${refusal.scope}. Leave it out.`,
        field: 'scopes',
      });
    case 'too-many-keys': {
      const { limit, active } = refusal;
      return new ApiError({
        code: 'CONFLICT',
        message: `The account has ${active} active API keys, and may have ${limit}. Revoke one first.`,
        details: { limit, active },
      });
    }
    default:
      return refusal satisfies never;
  }
};
