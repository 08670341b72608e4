import type { Command } from './command.ts';

/** One operation of one client, from its first attempt until its outcome was definite. */
export interface Operation {
  readonly customerId: number;
  readonly command: Command;
  /** Its idempotency key, if it has one, and the id of all of its requests. */
  readonly key: string;
  /**
   * The last answer. `unknown`: none that is definite, to one that is sent only once. `gave-up`: none within the bound,
   * which counts as a failure of the run.
   */
  readonly outcome: 'ok' | 'refused' | 'unknown' | 'gave-up';
  readonly status: number;
  readonly body: string;
  readonly attempts: number;
}

/** What all clients saw. */
export interface History {
  readonly operations: Operation[];
  /** Repeats after success whose answer was not the first one, byte for byte. */
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
