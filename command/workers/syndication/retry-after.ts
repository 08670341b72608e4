import type { Clock } from '../../../shared/async/clock.ts';
import type { OutboundFetch } from '../../../shared/outbound/outbound-fetch.ts';

const LEFT_ALONE_SECONDS_MAX = 3_600;

/** @param seconds untrusted @returns milliseconds, at most an hour */
export const leftAloneMs = (seconds: number): number =>
  Math.min(Math.max(seconds, 0), LEFT_ALONE_SECONDS_MAX) * 1_000;

/** RFC 9110, 5.6.7: the current form and two obsolete ones, one of them without a zone. */
const HTTP_DATE = /^(?:Mon|Tue|Wed|Thu|Fri|Sat|Sun)[a-z]*,? [\w: -]+$/;

/** @param header seconds or HTTP date (RFC 9110, 10.2.3) @returns milliseconds, at most an hour; else 0 */
export const retryAfterMs = (header: string | null, nowMs: number): number => {
  const text = header?.trim() ?? '';
  if (/^\d+$/.test(text)) return leftAloneMs(Number(text));
  if (!HTTP_DATE.test(text)) return 0;
  const atMs = Date.parse(text.endsWith(' GMT') ? text : `${text} GMT`);
  return Number.isNaN(atMs) ? 0 : leftAloneMs((atMs - nowMs) / 1_000);
};

/** RFC 6585, 4 and RFC 9110, 15.6.4. */
const LATER = [429, 503];

interface HeedingFetch {
  readonly fetch: OutboundFetch;
  /** Delay requested by the last answer, ms; 0 without one. */
  readonly afterMs: () => number;
}

/** A `fetch` that reads `Retry-After`, because the protocol clients' errors have no headers. */
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
