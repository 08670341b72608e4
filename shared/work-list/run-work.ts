import { z } from 'zod';
import { sleep } from '../async/backoff.ts';
import { AppendOutcomeUnknownError, EventStoreUnavailableError } from '../event-store/event-store.ts';
import type { Logger } from 'pino';
import { withCorrelation } from '../tracing/correlation.ts';
import { SpanKind, traced } from '../tracing/tracing.ts';
import type { HandleJob, Job, JobQueue, JobRun } from '../queue/job-queue.ts';
import type { JobKind } from '../queue/running-jobs.ts';
import type { OfferedEntry, WorkEntry, WorkList, WorkResult } from './work-list.ts';

export interface WorkRun {
  readonly attempt: number;
  readonly isLastAttempt: boolean;
  readonly signal: AbortSignal;
}

export interface WorkKind {
  readonly name: string;
  readonly concurrency: number;
  /** In the whole installation. */
  readonly perAccountMax: number;
  /** See `WorkResult.isTry`. */
  readonly attemptsMax: number;
  /** Also for a new revision. Default: 0. */
  readonly gapMs?: number;
  /** Kinds of entries that `prepare` turns into entries of this kind. */
  readonly madeOf?: readonly string[];
  /** Called when something is due. @returns false when no entry may be offered now */
  readonly prepare?: () => Promise<boolean>;
  /** May run again, or twice at the same time. After an error the queue runs the job again. */
  readonly handle: (entry: WorkEntry, run: WorkRun) => Promise<WorkResult>;
  /** Ends an entry whose jobs were lost `LOST_MAX` times. Default: it is tried again in an hour. */
  readonly giveUp?: (entry: WorkEntry) => Promise<WorkResult>;
}

const LOST_MAX = 10;
const GIVEN_UP: WorkResult = {
  is: 'again',
  afterMs: 60 * 60_000,
  isTry: false,
  reason: 'Its jobs ended without a result again and again.',
};
const STORE_AWAY_MS = 5_000;
const NOT_ENQUEUED: WorkResult = {
  is: 'again',
  afterMs: 2_000,
  isTry: false,
  reason: 'The job queue accepts no jobs now.',
};

export const workJobs = (
  kinds: readonly WorkKind[],
  list: WorkList,
  log: Pick<Logger, 'debug'>,
): readonly JobKind[] =>
  kinds.map((kind) => ({
    name: kind.name,
    concurrency: kind.concurrency,
    handle: runEntry(kind, list, log),
  }));

const Entry = z.object({
  kind: z.string(),
  customerId: z.int(),
  key: z.string(),
  revision: z.string(),
  askedAt: z.string(),
  data: z.record(z.string(), z.json()),
  attempts: z.int(),
  lost: z.int(),
  traceparent: z.string().nullable().default(null),
  correlationId: z.string().nullable().default(null),
});

const runEntry =
  (kind: WorkKind, list: WorkList, log: Pick<Logger, 'debug'>): HandleJob =>
  async (job) => {
    const entry = Entry.parse(job.data);
    const attributes = { 'exchange.work': kind.name, 'exchange.attempt': entry.attempts + 1 };
    const start = { kind: SpanKind.CONSUMER, attributes, parent: entry.traceparent ?? undefined };
    await withCorrelation(entry.correlationId ?? undefined, () =>
      traced(`work ${kind.name}`, start, async () => {
        const { is: result } = await runInSpan(kind, list, entry, job);
        const { kind: work, customerId, key } = entry;
        log.debug({ work, customerId, key, attempt: entry.attempts + 1, result }, 'work was run');
      }),
    );
  };

const runInSpan = async (
  kind: WorkKind,
  list: WorkList,
  entry: WorkEntry,
  { isLastAttempt: isLastOfJob, signal }: JobRun,
): Promise<WorkResult> => {
  const attempt = entry.attempts + 1;
  const run = { attempt, isLastAttempt: attempt >= kind.attemptsMax, signal };
  const work =
    entry.lost < LOST_MAX ? kind.handle(entry, run) : (kind.giveUp?.(entry) ?? Promise.resolve(GIVEN_UP));
  const result = await work.catch(async (error: unknown): Promise<WorkResult> => {
    // Another worker runs the job now, or will run it.
    if (signal.aborted) throw error;
    const reason = error instanceof Error ? error.message : String(error);
    if (isLastOfJob && isStoreAway(error)) {
      return { is: 'again', afterMs: STORE_AWAY_MS, isTry: false, reason };
    }
    await list.noteError(entry, reason);
    throw error;
  });
  await list.settle(entry, result, kind.gapMs);
  return result;
};

/** An unavailable store is no reason to give up an entry. */
const isStoreAway = (error: unknown): boolean =>
  error instanceof EventStoreUnavailableError || error instanceof AppendOutcomeUnknownError;

export interface OfferWorkOptions {
  readonly kinds: readonly WorkKind[];
  readonly list: WorkList;
  readonly queue: (kind: string) => JobQueue | undefined;
  /** The promise resolves when something new may be due, or after `ms`. */
  readonly watch: () => (ms: number) => Promise<void>;
  readonly log: Logger;
  readonly signal: AbortSignal;
}

/** A timer instead of a schedule of the queue: entries become due by time, and jobs may be lost. */
const EVERY_MS = 500;
const GATHER_MS = 30;
const AFTER_FAILURE_MS = 2_000;

/** Resolves after `signal`, when the last jobs are added. Several processes may run it. */
export const offerWork = async (options: OfferWorkOptions): Promise<void> => {
  const { watch, signal } = options;
  while (!signal.aborted) {
    const changed = watch();
    const { offered, hasFailed } = await offerDue(options);
    if (hasFailed) await sleep(AFTER_FAILURE_MS, signal);
    await sleep(GATHER_MS, signal);
    if (offered === 0) await changed(EVERY_MS);
  }
};

/** A kind that cannot be offered now must not delay the others. */
const offerDue = async (
  options: OfferWorkOptions,
): Promise<{ readonly offered: number; readonly hasFailed: boolean }> => {
  const { kinds, list, log, signal } = options;
  let hasFailed = false;
  const orElse =
    <T>(instead: T, kind?: string) =>
    (error: unknown): T => {
      hasFailed = true;
      if (!signal.aborted) log.warn({ err: error, kind }, 'work cannot be offered now; trying again');
      return instead;
    };
  const due = await list.due(kinds.flatMap(namesOf)).catch(orElse<readonly string[]>([]));
  let offered = 0;
  for (const kind of kinds.filter((one) => namesOf(one).some((name) => due.includes(name)))) {
    offered += await offerOnce(options, kind).catch(orElse(0, kind.name));
  }
  return { offered, hasFailed };
};

export const namesOf = ({ name, madeOf = [] }: WorkKind): readonly string[] => [name, ...madeOf];

const offerOnce = async (
  { list, queue, signal }: OfferWorkOptions,
  { name, concurrency, perAccountMax, prepare }: WorkKind,
): Promise<number> => {
  const jobs = queue(name);
  if (jobs === undefined || signal.aborted || (await prepare?.()) === false) return 0;
  // Enough to keep workers busy until the next round.
  const countMax = concurrency - (await jobs.waiting());
  if (countMax <= 0 || signal.aborted) return 0;
  // From here on also after `signal`: a lease without a job delays the entry until the lease ends.
  const offered = await list.offer(name, { countMax, perAccountMax });
  const live = await withLiveJob(jobs, offered);
  const fresh = offered.filter((entry) => !live.includes(entry));
  const lost = fresh.filter(({ leasedRevision }) => leasedRevision !== undefined);
  if (lost.length > 0) await list.countLost(lost);
  if (fresh.length === 0) return 0;
  await jobs
    .enqueue(...fresh.map((entry) => jobOf(entry, lost.includes(entry))))
    .catch(async (error: unknown) => {
      // Otherwise a queue without memory would count as lost jobs. A job that was added all the same may run twice.
      await Promise.all(fresh.map((entry) => list.settle(entry, NOT_ENQUEUED)));
      throw error;
    });
  return fresh.length;
};

/** The lease ended while the job waits or runs: no second job, also for a newer revision. */
const withLiveJob = async (
  jobs: JobQueue,
  offered: readonly OfferedEntry[],
): Promise<readonly OfferedEntry[]> => {
  const live: OfferedEntry[] = [];
  for (const entry of offered) {
    const { leasedRevision } = entry;
    if (leasedRevision === undefined) continue;
    if (await jobs.hasLiveJob(workJobId({ ...entry, revision: leasedRevision }))) live.push(entry);
  }
  return live;
};

/** A later revision is another job, regardless of the earlier one's end. */
export const workJobId = ({ key, revision }: Pick<WorkEntry, 'key' | 'revision'>): string =>
  `${key}_${revision.replaceAll('.', '_')}`;

const jobOf = ({ leasedRevision: _before, ...entry }: OfferedEntry, isLost: boolean): Job => ({
  id: workJobId(entry),
  data: { ...entry, lost: entry.lost + (isLost ? 1 : 0) },
});
