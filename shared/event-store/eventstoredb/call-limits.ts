/** How long calls to EventStoreDB may take until their callers are told how they stand, ms. */
export interface CallLimits {
  /** One read, all tries together. */
  readonly readMs: number;
  /** Before an append goes out, for the streams before it and for a slot together. */
  readonly waitMs: number;
  /** From the beginning of an append until it must have been sent, all tries together. */
  readonly sendMs: number;
  /** From the beginning of an append until it must have been read back and its account marked. */
  readonly answerMs: number;
}

/**
 * A request is answered within 3 s, whatever stalls. Whoever waits in vain is told so in time, and knows that nothing
 * was written.
 */
export const callLimits: CallLimits = { readMs: 2_500, waitMs: 2_000, sendMs: 2_400, answerMs: 2_700 };

/** For whatever no request waits for: a command of the operator's rather takes longer than to end in its middle. */
export const longCallLimits: CallLimits = {
  readMs: 25_000,
  waitMs: 20_000,
  sendMs: 24_000,
  answerMs: 27_000,
};
