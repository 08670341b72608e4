import type { Limits } from '../../shared/limits/limits.ts';

/** Settings for tests that must not reach a rate limit. */
export const generousLimits: Readonly<Record<string, string>> = {
  LIMIT_CREDENTIAL: '100000000',
  LIMIT_ADDRESS: '100000000',
  LIMIT_UNVERIFIED: '100000000',
};

/** The same for a limiter without settings. */
export const generous: Limits = {
  credential: { requests: 100_000_000, windowSeconds: 60 },
  address: { requests: 100_000_000, windowSeconds: 60 },
  unverified: { requests: 100_000_000, windowSeconds: 60 },
};
