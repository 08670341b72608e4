import { failpoint } from '../async/failpoints.ts';
import { ApiError } from './errors.ts';
import type { Logger } from 'pino';
import type { ClaimRequest, StoredAnswer } from '../idempotency/claim.ts';
import type { IdempotencyStore } from '../idempotency/idempotency-store.ts';

export interface KeyedCommand {
  readonly commandId: string;
  readonly reserved: Readonly<Record<string, number>>;
  /** False only if this request was the first to claim the key, and still holds the claim. */
  readonly hasRunBefore: () => Promise<boolean>;
}

export interface OnceAnswer extends StoredAnswer {
  readonly replayed: boolean;
}

export type ExecuteOnce = (
  request: ClaimRequest,
  run: (command: KeyedCommand) => Promise<StoredAnswer>,
) => Promise<OnceAnswer>;

/**
 * The claim only decides which request runs first and which answer is replayed. The single effect follows
 * from the command id: every step after the claim may fail or run twice. A refusal (4xx) frees the key; after
 * an unknown outcome the lease ends, and a retry finds the outcome. @throws ApiError IDEMPOTENCY_CONFLICT,
 * IDEMPOTENCY_IN_FLIGHT
 */
export const createExecuteOnce =
  (store: IdempotencyStore, log: Logger): ExecuteOnce =>
  async (request, run) => {
    const claim = await store.claim(request);
    if (claim.outcome === 'mismatch') throw keyOfAnotherRequest();
    if (claim.outcome === 'in-flight') throw stillRunning();
    if (claim.outcome === 'done') return { ...claim.answer, replayed: true };
    if (claim.outcome === 'done-unkept') {
      const { commandId, reserved } = claim;
      return { ...(await run({ commandId, reserved, hasRunBefore: async () => true })), replayed: true };
    }
    failpoint('after-claim');
    const { scope, key, keepsAnswer = true } = request;
    const own = { scope, key, lease: claim.lease };
    const free = (isFree: boolean): Promise<void> => (isFree ? store.release(own) : store.lapse(own));
    try {
      const hasRunBefore = async (): Promise<boolean> => !claim.isFirst || !(await store.isHeld(own));
      const { commandId, reserved } = claim;
      const answer = await run({ commandId, reserved, hasRunBefore });
      // The effect is in the log, and a retry derives the same answer from it.
      failpoint('before-complete');
      if (answer.hadNoEffect === true) {
        await bestEffort(log, () => free(claim.isFirst));
        return { ...answer, replayed: false };
      }
      const isKept = keepsAnswer && answer.isKept !== false;
      const kept = isKept ? answer : { status: answer.status, body: null };
      await bestEffort(log, () => store.complete(own, kept));
      failpoint('after-complete');
      return { ...answer, replayed: false };
    } catch (error) {
      const refused = error instanceof ApiError && error.hadNoEffect;
      failpoint('before-release');
      // The append of an earlier run may still arrive after a takeover, so its command keeps the key.
      const isFree = refused && claim.isFirst;
      await bestEffort(log, () => free(isFree));
      throw error;
    }
  };

const bestEffort = async (log: Logger, step: () => Promise<void>): Promise<void> => {
  try {
    await step();
  } catch (error) {
    log.warn({ err: error }, 'an idempotency key could not be completed or released; its lease will expire');
  }
};

const keyOfAnotherRequest = (): ApiError =>
  new ApiError({
    code: 'IDEMPOTENCY_CONFLICT',
    message: 'This Idempotency-Key was used for another request. Send a new key for a new request.',
    field: 'Idempotency-Key',
  });

const stillRunning = (): ApiError =>
  new ApiError(
    {
      code: 'IDEMPOTENCY_IN_FLIGHT',
      message:
        'The first request with this Idempotency-Key is still running. Repeat this one after Retry-After.',
      field: 'Idempotency-Key',
    },
    { 'Retry-After': '1' },
  );
