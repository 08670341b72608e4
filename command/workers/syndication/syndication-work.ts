import { z } from 'zod';
import { SYNDICATION_WORK } from '../../../domain/syndication/work.ts';
import { backoffMs } from '../../../shared/async/backoff.ts';
import type { WorkKind, WorkRun } from '../../../shared/work-list/run-work.ts';
import type { WorkEntry, WorkResult } from '../../../shared/work-list/work-list.ts';
import { retried } from './record-steps.ts';
import { giveUp, syndicate, type Work } from './syndicate.ts';
import type { SyndicateOptions } from './syndicate-options.ts';
import { TryAgainError } from './try-again.ts';

/** Calls per generation. After the last one a transient failure is final, except for deletions. */
export const ATTEMPTS_MAX = 6;
/** The longest delay applies only to deletions (`withdraw.ts`). */
const RETRY = { baseMs: 1_000, capMs: 30 * 60_000 };

/** @param isWhole false during a rebuild of the read models, when no work may start */
export const syndicationWork = (
  options: SyndicateOptions,
  isWhole: () => Promise<boolean>,
  perAccountMax = 10,
): WorkKind => ({
  name: SYNDICATION_WORK,
  // Runs mostly wait for agents. Five times an account's limit, so that its slow agents do not block others.
  concurrency: 50,
  perAccountMax,
  attemptsMax: ATTEMPTS_MAX,
  prepare: isWhole,
  handle: (entry, run) => runOnce(options, workOf(entry), run),
  giveUp: (entry) => giveUp(options, workOf(entry)),
});

const EntryData = z.object({ archived: z.boolean().default(false) });

const workOf = ({ customerId, key, revision, data }: WorkEntry): Work => ({
  customerId,
  recordId: key,
  generation: Number(revision),
  ...EntryData.parse(data),
});

const runOnce = async (options: SyndicateOptions, work: Work, run: WorkRun): Promise<WorkResult> => {
  try {
    return await syndicate(options, work, run);
  } catch (error) {
    if (!(error instanceof TryAgainError) || run.signal.aborted) throw error;
    const { result } = error;
    if (!result.isTry) return result;
    const afterMs = result.afterMs + backoffMs(run.attempt, RETRY);
    await retried(options, work, { attempt: run.attempt, errorMessage: result.reason, afterMs });
    return { ...result, afterMs };
  }
};
