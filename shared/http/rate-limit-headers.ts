import type { ServerResponse } from 'node:http';
import type { Standing } from '../limits/limiter.ts';
import { ApiError } from './errors.ts';

type RateLimitHeaders = Readonly<
  Record<'RateLimit-Limit' | 'RateLimit-Remaining' | 'RateLimit-Reset', string>
>;

const resetSeconds = ({ msLeft }: Standing): string => String(Math.max(1, Math.ceil(msLeft / 1_000)));

const rateLimitHeaders = (standing: Standing): RateLimitHeaders => ({
  'RateLimit-Limit': String(standing.limit),
  'RateLimit-Remaining': String(Math.max(0, standing.limit - standing.count)),
  'RateLimit-Reset': resetSeconds(standing),
});

export const setRateLimitHeaders = (response: ServerResponse, standing: Standing): void => {
  const headers = rateLimitHeaders(standing);
  response.setHeader('RateLimit-Limit', headers['RateLimit-Limit']);
  response.setHeader('RateLimit-Remaining', headers['RateLimit-Remaining']);
  response.setHeader('RateLimit-Reset', headers['RateLimit-Reset']);
};

/** Specification, Errors. */
export const rateLimited = (
  standing: Standing,
  what = `More than ${standing.limit} requests in this window.`,
): ApiError =>
  new ApiError(
    { code: 'RATE_LIMITED', message: `${what} Repeat the request after Retry-After.` },
    { ...rateLimitHeaders(standing), 'Retry-After': resetSeconds(standing) },
  );

export const keysRefused = (standing: Standing): ApiError =>
  new ApiError(
    {
      code: 'RATE_LIMITED',
      message:
        'Too many credentials from your address did not verify. Check your API key and repeat the request after Retry-After.',
      details: { reason: 'unverified_credentials' },
    },
    { ...rateLimitHeaders(standing), 'RateLimit-Remaining': '0', 'Retry-After': resetSeconds(standing) },
  );
