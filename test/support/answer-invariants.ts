import type { OutgoingHttpHeaders } from 'node:http';
import { securityHeaders } from '../../shared/http/security-headers.ts';
import { limitOf, type Pagination, type Route } from '../../shared/http/route.ts';

export interface InvariantCheck {
  /** Given to `startService`, beside the check against the declarations. */
  readonly onAnswer: (route: Route, status: number, text: string, headers: OutgoingHttpHeaders) => void;
  /** No answer may ever hold this text. */
  neverShow(secret: string): void;
  readonly problems: string[];
}

type Json = Record<string, unknown>;

/** The one list that has its total beside its items, too. */
interface Paged {
  readonly logs: readonly unknown[];
}

/** Rules that no schema says: they hold for every answer, whatever was asked. */
export const createInvariantCheck = (): InvariantCheck => {
  const problems: string[] = [];
  const secrets: string[] = [];
  return {
    problems,
    neverShow: (secret) => void secrets.push(secret),
    onAnswer: (route, status, text, headers) => {
      const complain = (what: string): void =>
        void problems.push(`${route.operationId} ${status}: ${what} in ${text.slice(0, 2_000)}`);
      if (secrets.some((secret) => text.includes(secret))) complain('a credential');
      checkHeaders(route, status, text, headers, complain);
      if (status >= 300 || text === '' || route.responses[status]?.mediaType !== undefined) return;
      if (text.startsWith('<!doctype html>')) return;
      const body = JSON.parse(text) as Json;
      checkTimes(body, complain);
      if (route.responses[status]?.paginated === true) {
        const { data, meta } = body as { data: unknown[] | Paged; meta: { pagination: Pagination } };
        checkPage((Array.isArray(data) ? data : data.logs).length, meta.pagination, complain);
      }
    },
  };
};

/** A page holds all there is in its place: total and items are of one moment. */
const checkPage = (
  length: number,
  { skip, take, total, hasMore }: Pagination,
  complain: (what: string) => void,
): void => {
  const expected = Math.max(0, Math.min(take, total - skip));
  if (length !== expected) complain(`${length} items, not ${expected}`);
  if (hasMore !== skip + length < total) complain('a wrong hasMore');
};

/**
 * Every counted answer says where its window stands, no other does. When the credential could not be looked up
 * (503) nobody is counted.
 */
const checkHeaders = (
  route: Route,
  status: number,
  text: string,
  headers: OutgoingHttpHeaders,
  complain: (what: string) => void,
): void => {
  for (const [name, value] of securityHeaders(false)) {
    // An answer may forbid more, behind what all forbid.
    if (!String(headers[name.toLowerCase()]).startsWith(value)) complain(`no ${name}`);
  }
  const given = ['limit', 'remaining', 'reset'].map((name) => headers[`ratelimit-${name}`]);
  const isCounted = given.every((value) => value !== undefined);
  if (!isCounted && given.some((value) => value !== undefined)) complain('a part of the rate limit headers');
  if (isCounted !== (limitOf(route) !== 'none') && status !== 503) complain('rate limit headers, or none');
  if (!isCounted) return;
  const [limit = 0, remaining = 0, reset = 0] = given.map(Number);
  if (!given.every((value) => /^\d+$/.test(String(value)))) complain('a rate limit header that is no number');
  if (remaining >= limit || reset < 1) complain('a wrong RateLimit-Remaining or RateLimit-Reset');
  if (status !== 429) return;
  if (text.includes('"reason":"open_uploads"')) {
    if (headers['retry-after'] !== '5') complain('a wrong 429');
  } else if (remaining > 0 || headers['retry-after'] !== String(reset)) complain('a wrong 429');
};

const checkTimes = (value: unknown, complain: (what: string) => void): void => {
  if (typeof value !== 'object' || value === null) return;
  const { createdAt, updatedAt } = value as Json;
  if (typeof createdAt === 'string' && typeof updatedAt === 'string' && updatedAt < createdAt) {
    complain('updatedAt before createdAt');
  }
  for (const member of Object.values(value)) checkTimes(member, complain);
};
