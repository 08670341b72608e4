import type { Clock } from '../../../shared/async/clock.ts';
import type { OutboundFetch } from '../../../shared/outbound/outbound-fetch.ts';

/** Longest time that an agent is left alone for because it says so. */
const LEFT_ALONE_SECONDS_MAX = 3_600;

/** @param seconds as an agent names them; anything may come in. @returns milliseconds, an hour at most */
export const leftAloneMs = (seconds: number): number =>
  Math.min(Math.max(seconds, 0), LEFT_ALONE_SECONDS_MAX) * 1_000;

/** RFC 9110, 5.6.7: the form of today, and the two that are obsolete, of which one names no zone. */
const HTTP_DATE = /^(?:Mon|Tue|Wed|Thu|Fri|Sat|Sun)[a-z]*,? [\w: -]+$/;

/**
 * Reads a `Retry-After` header: seconds, or an HTTP date (RFC 9110, 10.2.3).
 * @returns milliseconds, an hour at most; 0 without one, or of one that cannot be read
 */
export const retryAfterMs = (header: string | null, nowMs: number): number => {
  const text = header?.trim() ?? '';
  if (/^\d+$/.test(text)) return leftAloneMs(Number(text));
  if (!HTTP_DATE.test(text)) return 0;
  const atMs = Date.parse(text.endsWith(' GMT') ? text : `${text} GMT`);
  return Number.isNaN(atMs) ? 0 : leftAloneMs((atMs - nowMs) / 1_000);
};

/** RFC 6585, 4 and RFC 9110, 15.6.4: come back later. */
const LATER = [429, 503];

interface HeedingFetch {
  readonly fetch: OutboundFetch;
  /** For how long the server wants to be left alone, by its last answer, ms; 0 unless it said so. */
  readonly afterMs: () => number;
}

/**
 * A `fetch` that reads `Retry-After` on its way: what the protocols' clients throw has the status, and no headers.
 */
export const heedRetryAfter = (fetch: OutboundFetch, clock: Clock): HeedingFetch => {
  let afterMs = 0;
  return {
    fetch: async (url, init) => {
      const answer = await fetch(url, init);
      afterMs = LATER.includes(answer.status)
        ? retryAfterMs(answer.headers.get('retry-after'), clock.now())
        : 0;
      return answer;
    },
    afterMs: () => afterMs,
  };
};
