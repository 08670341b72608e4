import type { Pool } from 'pg';
import { z } from 'zod';
import { workKinds } from '../../../domain/work-kinds.ts';
import { backoffMs } from '../../../shared/async/backoff.ts';
import type { WorkKind, WorkRun } from '../../../shared/work-list/run-work.ts';
import type { WorkEntry, WorkResult } from '../../../shared/work-list/work-list.ts';
import { isWhole } from './at-agents.ts';
import { retried } from './record-steps.ts';
import { giveUp, syndicate, type Work } from './syndicate.ts';
import type { SyndicateOptions } from './syndicate-options.ts';
import { TryAgainError } from './try-again.ts';

/** Calls of the agent for one generation: what is transient for so long is final, unless it is to drop something. */
export const ATTEMPTS_MAX = 6;
/** As many calls are over long before the longest wait, which is that of what is to be dropped (`withdraw.ts`). */
const RETRY = { baseMs: 1_000, capMs: 30 * 60_000 };

/** @param pool that sees the rows of all accounts */
export const syndicationWork = (options: SyndicateOptions, pool: Pool, perAccountMax = 10): WorkKind => ({
  name: workKinds.syndication,
  // Most of a run is waiting for an agent. Five times what one account may have: its slow agents keep no other waiting.
  concurrency: 50,
  perAccountMax,
  attemptsMax: ATTEMPTS_MAX,
  prepare: () => isWhole(pool),
  handle: (entry, run) => runOnce(options, workOf(entry), run),
  giveUp: (entry) => giveUp(options, workOf(entry)),
});

const Marks = z.object({ archived: z.boolean().default(false) });

const workOf = ({ customerId, key, revision, data }: WorkEntry): Work => ({
  customerId,
  recordId: key,
  generation: Number(revision),
  ...Marks.parse(data),
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
