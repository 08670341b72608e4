import type { JsonObject } from '../event-store/event-store.ts';

/** A hint, never the only record of the work. */
export interface Job {
  /** Unique in its queue; `isJobId` checks the form. */
  readonly id: string;
  /** Never a secret: queues store it in clear text. */
  readonly data: JsonObject;
}

/** The same job may run again, or twice at the same time: handlers must be idempotent. */
export interface JobRun extends Job {
  readonly attempt: number;
  readonly isLastAttempt: boolean;
  /** The process ends, or the queue gave the job to another worker. */
  readonly signal: AbortSignal;
}

/** After an error the queue runs the job again: `ATTEMPTS_MAX` runs at most, with an exponential back-off. */
export type HandleJob = (run: JobRun) => Promise<void>;

export interface JobProcessor {
  /** Waits for running jobs; after `graceMs` another worker runs them again. */
  stop(graceMs: number): Promise<void>;
}

/** Every call is bounded in time and may fail: no request may depend on it. */
export interface JobQueue {
  /** Keeps an existing job. @throws RangeError for an invalid id */
  enqueue(...jobs: readonly Job[]): Promise<void>;
  /** Also true while the job waits for its next attempt. */
  hasLiveJob(id: string): Promise<boolean>;
  /** Does not count jobs that wait for their next attempt. */
  waiting(): Promise<number>;
  process(handle: HandleJob, concurrency: number): Promise<JobProcessor>;
  close(): Promise<void>;
}

/** BullMQ splits a text at `:` and generates ids of digits alone. */
export const isJobId = (id: string): boolean => /^(?=.*[A-Za-z_-])[\w-]{1,128}$/.test(id);
