const SECOND_MS = 1_000;
const MINUTE_MS = 60 * SECOND_MS;
const HOUR_MS = 60 * MINUTE_MS;

/** Before each attempt of a round, ms. A redelivery begins another round. */
const DELAYS_MS = [
  0,
  5 * SECOND_MS,
  5 * MINUTE_MS,
  30 * MINUTE_MS,
  2 * HOUR_MS,
  5 * HOUR_MS,
  10 * HOUR_MS,
  14 * HOUR_MS,
  20 * HOUR_MS,
  24 * HOUR_MS,
] as const;

const JITTER = 0.2;
export const RETRY_AFTER_MS_MAX = 24 * HOUR_MS;

/**
 * @param attempts of this round so far
 * @param retryAfterMs what the endpoint asked for; at most 24 h are granted
 * @param random from 0 to 1
 * @returns undefined after the last attempt
 */
export const nextAttemptMs = (attempts: number, retryAfterMs: number, random: number): number | undefined => {
  const delayMs = DELAYS_MS[attempts];
  if (delayMs === undefined) return undefined;
  const spreadMs = delayMs * (1 + JITTER * (2 * random - 1));
  return Math.round(Math.max(spreadMs, Math.min(retryAfterMs, RETRY_AFTER_MS_MAX)));
};
