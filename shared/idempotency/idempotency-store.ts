import type { Pool } from 'pg';
import { coalesce } from '../async/coalesce.ts';
import type { Claim, ClaimRequest } from './claim.ts';
import { claimAll } from './claim-keys.ts';
import {
  areHeld,
  completeAll,
  lapseKey,
  purgeKeys,
  releaseKey,
  type CompletedAnswer,
  type Completion,
} from './complete-keys.ts';

/** A claim as its claimant knows it. */
export interface OwnClaim {
  readonly scope: string;
  readonly key: string;
  readonly lease: string;
}

export interface IdempotencyStore {
  /** Claims a key for a command: the first one wins, across all nodes. */
  claim(request: ClaimRequest): Promise<Claim>;
  /**
   * Keeps the answer of a completed command, or that there was one; changes nothing when that was done already.
   * From then on the key is honored for 24 hours.
   */
  complete(claim: OwnClaim, answer: CompletedAnswer): Promise<void>;
  /** Refused: nothing happened, the key is free again; unless somebody else has taken the claim over. */
  release(claim: OwnClaim): Promise<void>;
  /** Outcome unknown: the key stays claimed, but whoever comes next may find out at once. */
  lapse(claim: OwnClaim): Promise<void>;
  /** True as long as nobody has taken the claim over. */
  isHeld(claim: OwnClaim): Promise<boolean>;
  /**
   * Deletes keys that are no longer honored, at most `limit` of them.
   * @returns how many
   */
  purge(limit: number): Promise<number>;
}

/**
 * Claims and answers in Postgres. Requests that arrive together share a round trip and a commit.
 *
 * When the events are in the same database, `pool` may commit without waiting for the disk: the database's
 * log keeps the order of commits, so events that survived a crash have their claim before them, and a lost
 * answer is derived again from the events.
 */
export const createIdempotencyStore = (pool: Pool): IdempotencyStore => {
  const batches = { batchMax: 200, inFlightMax: 2 };
  const complete = coalesce((answers: readonly Completion[]) => completeAll(pool, answers), batches);
  return {
    claim: coalesce((requests: readonly ClaimRequest[]) => claimAll(pool, requests), batches),
    complete: (claim, answer) => complete({ ...claim, answer }),
    release: ({ scope, key, lease }) => releaseKey(pool, scope, key, lease),
    lapse: ({ scope, key, lease }) => lapseKey(pool, scope, key, lease),
    isHeld: coalesce((claims: readonly OwnClaim[]) => areHeld(pool, claims), batches),
    purge: (limit) => purgeKeys(pool, limit),
  };
};
