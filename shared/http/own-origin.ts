import type { IncomingMessage } from 'node:http';
import { ApiError } from './errors.ts';

/** A page of another origin must not act with the cookie of a signed-in person (cross-site request forgery). */

type RequestHeaders = Pick<IncomingMessage, 'headers'>;

/** For writes with a cookie: the browser must name the service's own origin. */
export const isFromOwnPage = (
  { headers: { origin, ...headers } }: RequestHeaders,
  baseUrl: string,
): boolean =>
  origin === undefined ? headers['sec-fetch-site'] === 'same-origin' : origin === originOf(baseUrl);

/** A client that is not a browser sends neither header, and is admitted. */
export const isFromForeignPage = (
  { headers: { origin, ...headers } }: RequestHeaders,
  baseUrl: string,
): boolean =>
  (origin !== undefined && origin !== originOf(baseUrl)) ||
  !['same-origin', 'none', undefined].includes(headers['sec-fetch-site']);

/** For streams by cookie: a browser must say that a page of this service, or the person, asked for it. */
export const isFetchedByOwnPage = ({ headers }: RequestHeaders): boolean =>
  ['same-origin', 'none'].includes(String(headers['sec-fetch-site']));

const originOf = (baseUrl: string): string => new URL(baseUrl).origin;

export const foreignPage = (): ApiError =>
  new ApiError({
    code: 'FORBIDDEN',
    message:
      'The request must come from a page of this service, at the origin of BASE_URL. Open the page there, or use an API key or access token.',
  });
