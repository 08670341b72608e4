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
  complete(claim: OwnClaim, answer: CompletedAnswer): Promise<void>;
  /** After a refusal without effect, unless another request took the claim over. */
  release(claim: OwnClaim): Promise<void>;
  /** After an unknown outcome: the key stays claimed, and the next request takes it over immediately. */
  lapse(claim: OwnClaim): Promise<void>;
  isHeld(claim: OwnClaim): Promise<boolean>;
  purge(limit: number): Promise<number>;
}

/**
 * With events in the same database, `pool` may commit asynchronously: commits keep their order in the
 * write-ahead log, so an event that survives a crash still has its claim.
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
