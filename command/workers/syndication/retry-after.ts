import type { Clock } from '../../../shared/async/clock.ts';
import type { OutboundFetch } from '../../../shared/outbound/outbound-fetch.ts';
import { clampSeconds, retryAfterMs } from '../../../shared/outbound/retry-after.ts';

const LEFT_ALONE_SECONDS_MAX = 3_600;

/** @param seconds untrusted @returns milliseconds, at most an hour */
export const leftAloneMs = (seconds: number): number => clampSeconds(seconds, LEFT_ALONE_SECONDS_MAX);

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
        ? retryAfterMs(answer.headers.get('retry-after'), clock.now(), LEFT_ALONE_SECONDS_MAX)
        : 0;
      return answer;
    },
    afterMs: () => afterMs,
  };
};
