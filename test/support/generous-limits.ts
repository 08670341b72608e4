import type { Limits } from '../../shared/limits/limits.ts';

/** Settings under which no test meets a rate limit that is not about them. */
export const generousLimits: Readonly<Record<string, string>> = {
  LIMIT_CREDENTIAL: '100000000',
  LIMIT_ADDRESS: '100000000',
  LIMIT_UNVERIFIED: '100000000',
};

/** The same for a limiter that is made without settings. */
export const generous: Limits = {
  credential: { requests: 100_000_000, windowSeconds: 60 },
  address: { requests: 100_000_000, windowSeconds: 60 },
  unverified: { requests: 100_000_000, windowSeconds: 60 },
};
