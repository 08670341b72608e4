import type { Registry } from 'prom-client';
import { backoffMs, sleep } from '../async/backoff.ts';
import type { PartStatus } from '../async/readiness.ts';
import type { Logger } from 'pino';
import type { JobBackend } from './job-backend.ts';
import { createJobMetrics, type JobMetrics } from './job-metrics.ts';
import type { HandleJob, JobQueue, JobProcessor } from './job-queue.ts';

export interface JobStore {
  readonly databaseUrl: string;
  /** Absent: jobs are in Postgres. */
  readonly redisUrl?: string | undefined;
  readonly redisKeyPrefix: string;
}

export interface JobKind {
  readonly name: string;
  readonly handle: HandleJob;
  readonly concurrency: number;
}

export interface RunningJobsOptions {
  readonly store: JobStore;
  readonly kinds: readonly JobKind[];
  readonly log: Logger;
  readonly registry: Registry;
}

export interface RunningJobs {
  /** Undefined until it is open. */
  queue(name: string): JobQueue | undefined;
  readiness(): Promise<PartStatus>;
  /** @param adding the queues close after it */
  stop(adding?: Promise<void>): Promise<void>;
}

interface OpenJobs {
  readonly backend: JobBackend;
  readonly queues: Map<string, JobQueue>;
  readonly processing: JobProcessor[];
}

const REOPEN = { baseMs: 500, capMs: 5_000 };
/** Part of the 25 s in which a process must end. */
const STOP_GRACE_MS = 10_000;

/** BullMQ takes time and memory, so it is loaded only if there are jobs. */
export const openJobBackend = async (
  { databaseUrl, redisUrl, redisKeyPrefix }: JobStore,
  log: Logger,
): Promise<JobBackend> =>
  redisUrl === undefined
    ? (await import('./postgres-jobs.ts')).openPostgresJobs(databaseUrl, log)
    : (await import('./redis-jobs.ts')).openRedisJobs(redisUrl, redisKeyPrefix, log);

/** Retries: jobs are hints, and nothing else of the service depends on them. */
export const startJobs = (options: RunningJobsOptions): RunningJobs => {
  const { log, registry } = options;
  const ending = new AbortController();
  let opened: OpenJobs | undefined;
  const queues = options.kinds.map(({ name }) => name);
  const metrics = createJobMetrics(registry, queues, () => waitingIn(opened).catch(() => ({})));

  const open = async (): Promise<void> => {
    for (let attempt = 1; !ending.signal.aborted && opened === undefined; attempt++) {
      try {
        opened = await openAll(options, metrics);
      } catch (error) {
        log.warn({ err: error, attempt }, 'the job queue cannot be opened yet; trying again');
        await sleep(backoffMs(attempt, REOPEN), ending.signal);
      }
    }
  };
  const opening = open();

  return {
    queue: (name) => opened?.queues.get(name),
    readiness: async () =>
      opened === undefined
        ? { ready: false, detail: 'not open yet' }
        : { ready: true, detail: { ...opened.backend.detail, waiting: await waitingIn(opened) } },
    stop: async (adding) => {
      ending.abort();
      await opening;
      if (opened !== undefined) await closeAll(opened, STOP_GRACE_MS, adding);
    },
  };
};

const waitingIn = async (opened: OpenJobs | undefined): Promise<Readonly<Record<string, number>>> =>
  Object.fromEntries(
    await Promise.all(
      [...(opened?.queues ?? [])].map(async ([name, queue]) => [name, await queue.waiting()] as const),
    ),
  );

const openAll = async ({ store, kinds, log }: RunningJobsOptions, metrics: JobMetrics): Promise<OpenJobs> => {
  const { openBullmqQueue } = await import('./bullmq-queue.ts');
  const backend = await openJobBackend(store, log);
  const opened: OpenJobs = { backend, queues: new Map(), processing: [] };
  try {
    for (const { name, handle, concurrency } of kinds) {
      const queue = await openBullmqQueue({ name, backend, log, metrics });
      opened.queues.set(name, queue);
      opened.processing.push(await queue.process(handle, concurrency));
    }
    return opened;
  } catch (error) {
    await closeAll(opened, 0);
    throw error;
  }
};

const closeAll = async (
  { backend, queues, processing }: OpenJobs,
  graceMs: number,
  adding?: Promise<void>,
): Promise<void> => {
  await Promise.allSettled([...processing.map((one) => one.stop(graceMs)), adding]);
  await Promise.allSettled([...queues.values()].map((queue) => queue.close()));
  await backend.close();
};
