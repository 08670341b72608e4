import { Queue, Worker, type IQueueBackend, type Job as BullJob, type JobProgress } from 'bullmq';
import type { JsonObject } from '../event-store/event-store.ts';
import type { Logger } from 'pino';
import type { JobBackend } from './job-backend.ts';
import type { JobMetrics } from './job-metrics.ts';
import { isJobId, type HandleJob, type Job, type JobQueue, type JobProcessor } from './job-queue.ts';
import { timeout } from '../async/timeout.ts';

export interface JobQueueOptions {
  readonly name: string;
  readonly backend: JobBackend;
  readonly log: Logger;
  readonly metrics: JobMetrics;
}

// With BullMQ's defaults, jobs of a killed worker wait a minute, and the second stall fails them.
const LOCK_MS = 5_000;
const STALLED_EVERY_MS = 2_000;
const STALLED_MAX = 3;

const ATTEMPTS_MAX = 3;
const BACKOFF = { type: 'exponential', delay: 1_000, jitter: 0.5 } as const;

const CALL_MS_MAX = 5_000;
const COUNT_MS_MAX = 500;

const over = new Set(['completed', 'failed', 'unknown']);

type AnyQueue = Queue<JsonObject, void, string, JsonObject, void, string, IQueueBackend, unknown>;
type AnyWorker = Worker<JsonObject, void, string, IQueueBackend, JobProgress, unknown>;

/** Connects when it is used. */
export const openQueue = (name: string, backend: JobBackend, log: Logger): AnyQueue => {
  const queue: AnyQueue = new Queue(name, settingsOf(backend, 'add'), backend.factory);
  queue.on('error', (error) => log.warn({ err: error, queue: name }, 'job queue connection error'));
  return queue;
};

/** BullMQ never retries a failed start. @throws Error if its store is unavailable */
export const openBullmqQueue = async (options: JobQueueOptions): Promise<JobQueue> => {
  const { name, backend, log } = options;
  const queue = openQueue(name, backend, log);
  const close = (): Promise<void> => timeout(CALL_MS_MAX, queue.close());
  try {
    await timeout(CALL_MS_MAX, queue.waitUntilReady());
  } catch (error) {
    await close().catch(() => undefined);
    throw error;
  }
  const add = (jobs: readonly Job[]): Promise<void> => enqueue(queue, jobs, backend.bulkMin);
  const hasLiveJob = async (id: string): Promise<boolean> => !over.has(await queue.getJobState(id));
  return {
    enqueue: (...jobs) => timeout(CALL_MS_MAX, add(jobs)),
    hasLiveJob: (id) => timeout(CALL_MS_MAX, hasLiveJob(id)),
    waiting: () => timeout(COUNT_MS_MAX, queue.getJobCountByTypes('wait', 'prioritized')),
    process: (handle, concurrency) => process(options, handle, concurrency),
    close,
  };
};

const settingsOf = ({ connect, prefix }: JobBackend, to: 'add' | 'work') => ({
  connection: connect(to),
  ...(prefix === undefined ? {} : { prefix }),
});

// Adding the id of a kept job would silently do nothing, and keeping some costs more than half of the speed
// on Postgres.
const enqueue = async (queue: AnyQueue, jobs: readonly Job[], bulkMin: number): Promise<void> => {
  for (const { id } of jobs) {
    if (!isJobId(id)) throw new RangeError(`${JSON.stringify(id)} cannot be the id of a job`);
  }
  const all = jobs.map(({ id, data }) => ({
    name: queue.name,
    data,
    opts: {
      jobId: id,
      attempts: ATTEMPTS_MAX,
      backoff: BACKOFF,
      removeOnComplete: true,
      removeOnFail: true,
      stackTraceLimit: 3,
    },
  }));
  if (all.length >= bulkMin) await queue.addBulk(all);
  else await Promise.all(all.map(({ name, data, opts }) => queue.add(name, data, opts)));
};

const process = async (
  { name, backend, log, metrics }: JobQueueOptions,
  handle: HandleJob,
  concurrency: number,
): Promise<JobProcessor> => {
  const worker: AnyWorker = new Worker(
    name,
    (job: BullJob<JsonObject, void>, _token?: string, signal?: AbortSignal) => run(handle, job, signal),
    {
      ...settingsOf(backend, 'work'),
      concurrency,
      lockDuration: LOCK_MS,
      stalledInterval: STALLED_EVERY_MS,
      maxStalledCount: STALLED_MAX,
      drainDelay: 2,
      runRetryDelay: 1_000,
    },
    backend.factory,
  );
  worker.on('error', (error) => log.warn({ err: error, queue: name }, 'job worker connection error'));
  // Another worker runs the whole job now: to continue here would only do the work twice.
  worker.on('lockRenewalFailed', (ids) => ids.forEach((id) => worker.cancelJob(id)));
  worker.on('completed', () => metrics.ended(name, 'completed'));
  worker.on('failed', (job, error) => {
    const isOver = job === undefined || job.attemptsMade >= (job.opts.attempts ?? 1);
    metrics.ended(name, isOver ? 'failed' : 'retried');
    if (!isOver) return;
    // Its run has ended, so the line gets what the lines of the run have.
    const correlationId: unknown = job?.data['correlationId'] ?? undefined;
    log.error({ err: error, queue: name, job: job?.id, correlationId }, 'a job was given up');
  });
  worker.on('stalled', () => metrics.ended(name, 'stalled'));
  try {
    await timeout(CALL_MS_MAX, worker.waitUntilReady());
  } catch (error) {
    await timeout(CALL_MS_MAX, worker.close(true)).catch(() => undefined);
    throw error;
  }
  return { stop: (graceMs) => stop(worker, graceMs) };
};

/** BullMQ passes a signal only to a function with a third parameter. */
const run = async (
  handle: HandleJob,
  { id = '', data, attemptsMade, opts }: BullJob<JsonObject, void>,
  signal = new AbortController().signal,
): Promise<void> => {
  const attempt = attemptsMade + 1;
  await handle({ id, data, attempt, isLastAttempt: attempt >= (opts.attempts ?? 1), signal });
};

/** A cancelled job fails, so that it runs again. If even that cannot be stored, its lock expires. */
const stop = async (worker: AnyWorker, graceMs: number): Promise<void> => {
  const closed = worker.close();
  const isClosed = await timeout(graceMs, closed).then(
    () => true,
    () => false,
  );
  if (isClosed) return;
  worker.cancelAllJobs('the process ends');
  await timeout(CALL_MS_MAX, closed).catch(() => undefined);
};
