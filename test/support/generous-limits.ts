import { forEachLimit, specifiedLimits, type Limits } from '../../shared/limits/limits.ts';

/** Settings for tests that must not reach a rate limit. */
export const generousLimits: Readonly<Record<string, string>> = {
  LIMIT_CREDENTIAL: '100000000',
  LIMIT_ADDRESS: '100000000',
  LIMIT_UNVERIFIED: '100000000',
  LIMIT_AUTH: '100000000',
  LIMIT_SIGN_UP: '100000000',
  LIMIT_PASSWORD_RESET: '100000000',
  LIMIT_CLIENT_REGISTRATION: '100000000',
  LIMIT_TOKEN: '100000000',
  LIMIT_INVITATIONS: '100000000',
  LIMIT_INVITED_ADDRESS: '100000000',
};

/** The same for a limiter without settings. */
export const generous: Limits = forEachLimit(specifiedLimits, () => ({
  requests: 100_000_000,
  windowSeconds: 60,
}));
