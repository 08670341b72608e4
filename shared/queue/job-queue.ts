import type { JsonObject } from '../event-store/event-store.ts';

/** Work outside of any request. A hint, never the only record of the work. */
export interface Job {
  /** Unique in its queue; `isJobId` says which texts may be one. */
  readonly id: string;
  /** What the handler needs to find its work again. Never a secret: queues keep it in clear text. */
  readonly data: JsonObject;
}

/** One run of a job. The same job may run again, or in two places at once: handlers must stand that. */
export interface JobRun extends Job {
  /** From 1. */
  readonly attempt: number;
  /** True when nothing follows: what fails now is not tried again. */
  readonly isLastAttempt: boolean;
  /** Fires when the run is no longer this process's: the process ends, or the queue gave the job to another. */
  readonly signal: AbortSignal;
}

/** Does a job. What it throws, the queue tries again: `ATTEMPTS_MAX` runs at most, with an exponential back-off. */
export type HandleJob = (run: JobRun) => Promise<void>;

export interface Processing {
  /** Takes no new job and waits for those that run, for `graceMs` at most; then hands them back to be run again. */
  stop(graceMs: number): Promise<void>;
}

/**
 * A named queue of jobs, shared by all processes of an installation. Every call is bounded in time and may fail:
 * a queue is never between a request and its answer.
 */
export interface JobQueue {
  /**
   * Afterwards a job of each id is to be run: the one that was there, or a new one.
   * @throws RangeError for an id that cannot be one
   */
  enqueue(...jobs: readonly Job[]): Promise<void>;
  /** True if a job with this id runs, waits to run, or waits for its next attempt. */
  hasLiveJob(id: string): Promise<boolean>;
  /** Jobs that wait to run, without those that wait for their next attempt. */
  waiting(): Promise<number>;
  /** Runs jobs, `concurrency` of them at once. */
  process(handle: HandleJob, concurrency: number): Promise<Processing>;
  close(): Promise<void>;
}

/** BullMQ takes a text with `:` apart and counts upwards from one of digits alone. */
export const isJobId = (id: string): boolean => /^(?=.*[A-Za-z_-])[\w-]{1,128}$/.test(id);
