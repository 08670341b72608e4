/** @param seconds untrusted @returns milliseconds */
export const clampSeconds = (seconds: number, secondsMax: number): number =>
  Math.min(Math.max(seconds, 0), secondsMax) * 1_000;

/** RFC 9110, 5.6.7: the current form and two obsolete ones, one of them without a zone. */
const HTTP_DATE = /^(?:Mon|Tue|Wed|Thu|Fri|Sat|Sun)[a-z]*,? [\w: -]+$/;

/** @param header seconds or HTTP date (RFC 9110, 10.2.3) @returns milliseconds, at most `secondsMax`; else 0 */
export const retryAfterMs = (header: string | null, nowMs: number, secondsMax: number): number => {
  const text = header?.trim() ?? '';
  if (/^\d+$/.test(text)) return clampSeconds(Number(text), secondsMax);
  if (!HTTP_DATE.test(text)) return 0;
  const atMs = Date.parse(text.endsWith(' GMT') ? text : `${text} GMT`);
  return Number.isNaN(atMs) ? 0 : clampSeconds((atMs - nowMs) / 1_000, secondsMax);
};
