/** One operation of one client, from its first attempt until its outcome was definite. */
export interface Operation {
  readonly customerId: number;
  readonly kind: 'create' | 'update' | 'archive' | 'restore';
  readonly key: string;
  /** The advertiser; of a creation, the one that was answered. */
  readonly advertiserId: number;
  /** The last answer. `gave-up`: no definite answer within the bound, which counts as a failure of the run. */
  readonly outcome: 'ok' | 'refused' | 'gave-up';
  /** What its client, the only one to write this advertiser, knows must come of it. */
  readonly expected: 'ok' | 'refused';
  readonly status: number;
  readonly body: string;
  readonly attempts: number;
}

/** What all clients saw. */
export interface History {
  readonly operations: Operation[];
  /** Same-key repeats after success whose answer was not the first one, byte for byte. */
  readonly wrongReplays: string[];
  /** Reads right after an acknowledged write that did not show it. */
  readonly staleReads: string[];
  replays: number;
  reads: number;
}

export const emptyHistory = (): History => ({
  operations: [],
  wrongReplays: [],
  staleReads: [],
  replays: 0,
  reads: 0,
});
