/** Time limits of calls to EventStoreDB, in ms. */
export interface CallLimits {
  readonly readMs: number;
  /** Before an append is sent: the wait for earlier appends of the stream and for a free slot. */
  readonly waitMs: number;
  /** From the start of an append until it is sent, including retries. */
  readonly sendMs: number;
  /** From the start of an append until it is read back and the account's position is updated. */
  readonly answerMs: number;
}

/**
 * A request is answered within 3 s even if the server stalls. A caller that waits in vain learns that nothing was
 * written.
 */
export const callLimits: CallLimits = { readMs: 2_500, waitMs: 2_000, sendMs: 2_400, answerMs: 2_700 };

/** For work outside requests, e.g. operator commands: finishing late is better than stopping halfway. */
export const longCallLimits: CallLimits = {
  readMs: 25_000,
  waitMs: 20_000,
  sendMs: 24_000,
  answerMs: 27_000,
};
