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

export interface OwnClaim {
  readonly scope: string;
  readonly key: string;
  readonly lease: string;
}

export interface IdempotencyStore {
  claim(request: ClaimRequest): Promise<Claim>;
  /** Stores the answer of a finished command, if none is stored. From then on the key is replayed for 24 hours. */
  complete(claim: OwnClaim, answer: CompletedAnswer): Promise<void>;
  /** Frees the key after a refusal without effect, unless another request took the claim over. */
  release(claim: OwnClaim): Promise<void>;
  /**
   * Ends the lease after an unknown outcome: the key stays claimed, and the next request takes it over immediately.
   */
  lapse(claim: OwnClaim): Promise<void>;
  /** False once another request has taken the claim over. */
  isHeld(claim: OwnClaim): Promise<boolean>;
  /** Deletes at most `limit` keys that are no longer replayed, and returns their number. */
  purge(limit: number): Promise<number>;
}

/**
 * Requests that arrive together share a round trip and a commit. If the events are in the same database, `pool` may
 * commit asynchronously: commits keep their order in the write-ahead log, so every event that survives a crash still
 * has its claim. A lost answer is derived again from the events.
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
