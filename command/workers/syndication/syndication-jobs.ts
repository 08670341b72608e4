import { z } from 'zod';
import { backoffMs } from '../../../shared/async/backoff.ts';
import {
  AppendOutcomeUnknownError,
  EventStoreUnavailableError,
} from '../../../shared/event-store/event-store.ts';
import {
  PostponeJobError,
  RetryJobError,
  type HandleJob,
  type JobQueue,
  type JobRun,
} from '../../../shared/queue/job-queue.ts';
import { retried } from './record-steps.ts';
import { isJobOfEarlier } from './offer-work.ts';
import { giveUp, syndicate } from './syndicate.ts';
import type { SyndicateOptions } from './syndicate-options.ts';
import { DONE, RETRY_MS_MIN, type Rest, type Work } from './work-list.ts';

export interface SyndicationJobsOptions extends SyndicateOptions {
  readonly queue: () => JobQueue | undefined;
}

const WorkData = z.object({
  customerId: z.int(),
  recordId: z.uuid(),
  generation: z.int().min(1),
  archived: z.boolean(),
  changes: z.int(),
  attempts: z.int().min(0),
  lost: z.int().min(0),
});

/** Calls of the agent for one generation: what is transient for so long is final, unless it is to drop something. */
export const ATTEMPTS_MAX = 6;
/** As many calls are over long before the longest wait, which is that of what is to be dropped (`withdraw.ts`). */
const RETRY = { baseMs: 1_000, capMs: 30 * 60_000 };
const STORE_AWAY_MS = 5_000;
const EARLIER_FIRST: Rest = { afterMs: 500, tried: false, keepsTurn: true };

/**
 * Workers that one job has taken along, and jobs of one generation that ended without a word, before nobody tries
 * any more. A store that is away is no reason.
 */
const STALLS_MAX = 5;
const LOST_MAX = 10;

/**
 * Runs the jobs that `offerWork` makes. When something is tried again is for the work list to say, not for the
 * queue: a queue may be lost, and tells the time by the clocks of its workers.
 */
export const syndicationJobs =
  (options: SyndicationJobsOptions): HandleJob =>
  async (run) => {
    const work = WorkData.parse(run.data);
    const rest = (await isEarlierRunning(options, work))
      ? EARLIER_FIRST
      : await runOnce(options, work, { ...run, attempt: work.attempts + 1 });
    await options.workList.rest(work, rest);
  };

const runOnce = async (options: SyndicationJobsOptions, work: Work, run: JobRun): Promise<Rest> => {
  try {
    if (run.stalls >= STALLS_MAX || work.lost >= LOST_MAX) {
      await giveUp(options, work);
      return DONE;
    }
    const stalls = run.stalls + work.lost * STALLS_MAX;
    await syndicate(options, work, { ...run, stalls, isLastAttempt: run.attempt >= ATTEMPTS_MAX });
    return DONE;
  } catch (error) {
    // Another worker has the job by now, or will have: it is not over.
    if (run.signal.aborted) throw error;
    if (error instanceof RetryJobError) {
      const afterMs = error.afterMs + RETRY_MS_MIN + backoffMs(run.attempt, RETRY);
      await retried(options, work, { attempt: run.attempt, errorMessage: error.message, afterMs });
      return { afterMs, tried: true, error: error.message };
    }
    if (error instanceof PostponeJobError) {
      return { afterMs: Math.max(error.afterMs, RETRY_MS_MIN), tried: false, error: error.message };
    }
    if (error instanceof EventStoreUnavailableError || error instanceof AppendOutcomeUnknownError) {
      return { afterMs: STORE_AWAY_MS, tried: false, error: error.message };
    }
    throw error;
  }
};

/**
 * An earlier generation's call may be under way: if it came in after this one's, the agent would go by the older. One
 * that waits for its next attempt is none: it finds itself superseded then. The record keeps its account's turn,
 * which is that call's.
 */
const isEarlierRunning = async ({ queue }: SyndicationJobsOptions, work: Work): Promise<boolean> => {
  if (work.generation === 1) return false;
  const running = (await queue()?.running()) ?? [];
  return running.some((id) => isJobOfEarlier(id, work));
};
