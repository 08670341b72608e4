import type { Command } from './command.ts';

/** One operation of one client, from its first attempt until a definite outcome. */
export interface Operation {
  readonly customerId: number;
  readonly command: Command;
  /** The idempotency key, if it has one. Also the id of all of its requests. */
  readonly key: string;
  /**
   * The last answer. `unknown`: a command that is sent only once has no definite answer. `gave-up`: no answer within
   * the bound, which fails the run.
   */
  readonly outcome: 'ok' | 'refused' | 'unknown' | 'gave-up';
  readonly status: number;
  readonly body: string;
  readonly attempts: number;
}

/** The observations of all clients. */
export interface History {
  readonly operations: Operation[];
  /** Repeats after success whose answer differed from the first one in any byte. */
  readonly wrongReplays: string[];
  /** Reads after an acknowledged write that did not show it. */
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
