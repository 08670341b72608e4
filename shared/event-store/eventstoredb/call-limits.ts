export interface CallLimits {
  readonly readMs: number;
  /** The wait for earlier appends of the stream and for a free slot. */
  readonly waitMs: number;
  /** Includes retries. */
  readonly sendMs: number;
  /** Until the account's position is updated. */
  readonly answerMs: number;
}

/** A request is answered within 3 s even if the server stalls. */
export const callLimits: CallLimits = { readMs: 2_500, waitMs: 2_000, sendMs: 2_400, answerMs: 2_700 };

/** Outside requests, e.g. operator commands: finishing late is better than stopping halfway. */
export const longCallLimits: CallLimits = {
  readMs: 25_000,
  waitMs: 20_000,
  sendMs: 24_000,
  answerMs: 27_000,
};
