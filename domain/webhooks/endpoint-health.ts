const HOUR_MS = 3_600_000;

/** Failing time after which the account's administrators get a mail. Standard Webhooks clients expect notice. */
const NOTICES_AFTER_MS = [24 * HOUR_MS, 72 * HOUR_MS] as const;

/** An endpoint without a success for this time, while something was due, is disabled. */
const DISABLED_AFTER_MS = 120 * HOUR_MS;

/** Number of the notice that says that the endpoint was disabled. */
export const END_NOTICE = NOTICES_AFTER_MS.length + 1;

export interface FailingEndpoint {
  /** Time since the first failure after the last success. */
  readonly failingMs: number;
  /** Number of the last notice of this failure; 0: none. */
  readonly notices: number;
}

export interface HealthStep {
  /** Number of a notice to send, from 1. */
  readonly notice: number | undefined;
  readonly isHopeless: boolean;
  /** Time until the next step; undefined: none follows. */
  readonly nextMs: number | undefined;
}

/** Only for an endpoint with deliveries that wait: without them, no time counts as failing. */
export const healthStep = ({ failingMs, notices }: FailingEndpoint): HealthStep => {
  const reached = NOTICES_AFTER_MS.filter((ms) => ms <= failingMs).length;
  const nextAtMs = [...NOTICES_AFTER_MS, DISABLED_AFTER_MS].find((ms) => ms > failingMs);
  return {
    notice: reached > notices ? reached : undefined,
    isHopeless: failingMs >= DISABLED_AFTER_MS,
    nextMs: nextAtMs === undefined ? undefined : nextAtMs - failingMs,
  };
};
