import { sleep } from '../../../shared/async/backoff.ts';
import type { Logger } from 'pino';
import type { Job, JobQueue } from '../../../shared/queue/job-queue.ts';
import type { OfferedWork, Work, WorkList } from './work-list.ts';

export interface OfferWorkOptions {
  readonly workList: WorkList;
  /** Undefined while it is away. */
  readonly queue: () => JobQueue | undefined;
  /**
   * Begins to watch the list. What it returns resolves when something may be there to be offered that was not when
   * the watching began, or after that many milliseconds.
   */
  readonly watch: () => (ms: number) => Promise<void>;
  readonly log: Logger;
  readonly signal: AbortSignal;
}

/** Jobs that wait for their turn at most: enough to keep workers busy until the next look. */
const QUEUED_MAX = 50;
const EVERY_MS = 500;
/**
 * Between two looks at least: what many jobs have freed is offered together. A look costs as much as some jobs; what is
 * switched on when nothing was offered of late does not wait for it.
 */
const GATHER_MS = 30;
const AFTER_FAILURE_MS = 2_000;

/** Of one generation, so that a later one is another job, whatever became of the earlier. */
export const jobIdOf = ({ recordId, generation }: Pick<Work, 'recordId' | 'generation'>): string =>
  `${jobIdsOf(recordId)}${generation}`;

/** Whether a job is of an earlier generation of the same record. */
export const isJobOfEarlier = (
  id: string,
  { recordId, generation }: Pick<Work, 'recordId' | 'generation'>,
): boolean => id.startsWith(jobIdsOf(recordId)) && Number(id.slice(jobIdsOf(recordId).length)) < generation;

const jobIdsOf = (recordId: string): string => `synd-${recordId}-g`;

/**
 * Turns what waits into jobs, until `signal`; resolves when the last look has added its jobs. The read model is the list
 * of what is to be done, jobs are hints: a queue that was lost, or a worker that died too often, costs some seconds. Many
 * may do this at once.
 */
export const offerWork = async (options: OfferWorkOptions): Promise<void> => {
  const { watch, log, signal } = options;
  while (!signal.aborted) {
    try {
      const changed = watch();
      const offered = await offerOnce(options);
      await sleep(GATHER_MS, signal);
      if (offered === 0) await changed(EVERY_MS);
    } catch (error) {
      if (signal.aborted) return;
      log.warn({ err: error }, 'what waits to be syndicated cannot be offered now; trying again');
      await sleep(AFTER_FAILURE_MS, signal);
    }
  }
};

const offerOnce = async ({ workList, queue, signal }: OfferWorkOptions): Promise<number> => {
  const jobs = queue();
  if (jobs === undefined) return 0;
  const room = QUEUED_MAX - (await jobs.waiting());
  if (room <= 0 || signal.aborted) return 0;
  // From here on to its end, also after `signal`: a turn without a job is lost until it is offered again.
  const offered = await workList.offer(room);
  const lost = signal.aborted ? [] : await withoutJob(jobs, offered);
  if (lost.length > 0) await workList.countLost(lost);
  if (offered.length > 0) await jobs.enqueue(...offered.map((work) => jobOf(work, lost.includes(work))));
  return offered.length;
};

/** Those among what is offered again whose job is gone, although nobody has said that it is over. */
const withoutJob = async (
  jobs: JobQueue,
  offered: readonly OfferedWork[],
): Promise<readonly OfferedWork[]> => {
  const lost: OfferedWork[] = [];
  for (const work of offered) {
    if (work.again && !(await jobs.hasLiveJob(jobIdOf(work)))) lost.push(work);
  }
  return lost;
};

const jobOf = ({ again, ...work }: OfferedWork, isLost: boolean): Job => ({
  id: jobIdOf(work),
  data: { ...work, lost: work.lost + (again && isLost ? 1 : 0) },
});
