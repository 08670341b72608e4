import type { OutgoingHttpHeaders } from 'node:http';
import { securityHeaders } from '../../shared/http/security-headers.ts';
import { limitOf, type Pagination, type Route } from '../../shared/http/route.ts';

export interface InvariantCheck {
  /** An option of `startService`, in addition to the check against the declarations. */
  readonly onAnswer: (route: Route, status: number, text: string, headers: OutgoingHttpHeaders) => void;
  /** No answer may ever contain this text. */
  neverShow(secret: string): void;
  readonly problems: string[];
}

type Json = Record<string, unknown>;

/** The one list with a total next to its items. */
interface AuditPage {
  readonly logs: readonly unknown[];
}

/** Rules for all answers that no schema expresses. */
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
        const { data, meta } = body as { data: unknown[] | AuditPage; meta: { pagination: Pagination } };
        checkPage((Array.isArray(data) ? data : data.logs).length, meta.pagination, complain);
      }
    },
  };
};

/** A page is as long as its total allows: total and items have the same time. */
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
 * Every counted answer shows the state of its rate limit window, and no other answer shows it. A request whose credential
 * could not be verified (503) is not counted.
 */
const checkHeaders = (
  route: Route,
  status: number,
  text: string,
  headers: OutgoingHttpHeaders,
  complain: (what: string) => void,
): void => {
  for (const [name, value] of securityHeaders(false)) {
    // An answer may add stricter directives to the common ones.
    if (!String(headers[name.toLowerCase()]).startsWith(value)) complain(`no ${name}`);
  }
  const given = ['limit', 'remaining', 'reset'].map((name) => headers[`ratelimit-${name}`]);
  const isCounted = given.every((value) => value !== undefined);
  if (!isCounted && given.some((value) => value !== undefined)) complain('incomplete rate limit headers');
  if (isCounted !== (limitOf(route) !== 'none') && status !== 503)
    complain('rate limit headers missing or unexpected');
  if (!isCounted) return;
  const [limit = 0, remaining = 0, reset = 0] = given.map(Number);
  if (!given.every((value) => /^\d+$/.test(String(value))))
    complain('a rate limit header that is not a number');
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
