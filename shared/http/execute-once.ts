import { failpoint } from '../async/failpoints.ts';
import { ApiError } from './errors.ts';
import type { Logger } from 'pino';
import type { ClaimRequest, StoredAnswer } from '../idempotency/claim.ts';
import type { IdempotencyStore } from '../idempotency/idempotency-store.ts';

/** The one command that a key stands for. */
export interface KeyedCommand {
  readonly commandId: string;
  readonly reserved: Readonly<Record<string, number>>;
  /**
   * False only when no other run of this command can have left an event by now: the key was claimed for the first
   * time, and nobody has taken the claim over since.
   */
  readonly hasRunBefore: () => Promise<boolean>;
}

export interface OnceAnswer extends StoredAnswer {
  /** True when this is the answer of an earlier request. */
  readonly replayed: boolean;
}

export type ExecuteOnce = (
  request: ClaimRequest,
  run: (command: KeyedCommand) => Promise<StoredAnswer>,
) => Promise<OnceAnswer>;

/**
 * Runs a keyed command at most once in effect (decisions.md 1.2).
 *
 * The claim is only about answers and about who goes first. That a repeated command has one effect follows
 * from its command id: so every step after the claim may fail, be lost or run twice, on any node.
 *
 * Done: the answer is kept, or, when it holds a secret, that there was one: then a repeat runs the command again,
 * which has no second effect, for as long as it would be replayed. Refused (4xx): nothing happened, the key is free again.
 * Unknown (anything else, and a refusal behind an earlier run of unknown outcome): the claim stays, its lease ends, and the
 * retry with the same key finds out.
 *
 * @throws ApiError IDEMPOTENCY_CONFLICT, IDEMPOTENCY_IN_FLIGHT; whatever `run` throws
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
    try {
      const hasRunBefore = async (): Promise<boolean> => !claim.isFirst || !(await store.isHeld(own));
      const { commandId, reserved } = claim;
      const answer = await run({ commandId, reserved, hasRunBefore });
      // Best effort: the effect is in the log, and a retry derives the same answer from it.
      failpoint('before-complete');
      const isKept = keepsAnswer && answer.isKept !== false;
      const kept = isKept ? answer : { status: answer.status, body: null };
      await bestEffort(log, () => store.complete(own, kept));
      failpoint('after-complete');
      return { ...answer, replayed: false };
    } catch (error) {
      const refused = error instanceof ApiError && error.hadNoEffect;
      failpoint('before-release');
      // Behind a claim that was taken over, the earlier run's append may still arrive: its command keeps the key.
      const isFree = refused && claim.isFirst;
      await bestEffort(log, () => (isFree ? store.release(own) : store.lapse(own)));
      throw error;
    }
  };

const bestEffort = async (log: Logger, step: () => Promise<void>): Promise<void> => {
  try {
    await step();
  } catch (error) {
    log.warn({ err: error }, 'an idempotency key could not be settled; its lease will end');
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
