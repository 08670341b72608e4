import { z } from 'zod';
import type { OtherCauses } from '../causation.ts';
import type { SyndicationEvent } from './syndication-events.ts';
import type { JsonMembers, TaskOf } from './syndication-resource.ts';
import { isWaiting } from './syndication-states.ts';
import type { SyndicationState } from './syndication.ts';

/** The state of a job, or of a call of an agent. */
export const JobStatus = z.enum(['WAITING', 'RUNNING', 'COMPLETED', 'FAILED', 'SUPERSEDED']);
export type JobStatus = z.infer<typeof JobStatus>;

/**
 * The jobs that a record's events tell of, one for each generation that there was something to do for, and what the agent
 * was asked in each. A call that was answered at once is in no event: what is known of it is how the job ended. A try that
 * came to nothing says why, until the job has ended.
 */

/** What the agent was asked; of what it took in to finish it later, each. */
export interface AgentCall {
  /** Undefined: answered at once, or not answered yet. */
  readonly takenIn?: { readonly taskId: string; readonly taskOf: TaskOf; readonly idempotencyKey: string };
  readonly askedAt: string;
  readonly status: Exclude<JobStatus, 'WAITING'>;
  readonly endedAt?: string;
  readonly responseData?: JsonMembers;
  readonly errorMessage?: string;
}

export interface SyndicationJob {
  readonly generation: number;
  /** What the agent is to do with the resource. */
  readonly work: 'TAKE' | 'DROP';
  readonly status: JobStatus;
  /** Command that began the generation, and when; undefined when that is before the events that are known. */
  readonly begun?: {
    readonly commandId: string;
    readonly at: string;
    readonly alsoCausedBy?: OtherCauses | undefined;
  };
  /** Commands of requests that came in behind its beginning: it leads to what they have changed, too. */
  readonly joinedBy: readonly string[];
  /** Ids of the events that belong to it, behind the one that it began with. */
  readonly steps: readonly string[];
  readonly calls: readonly AgentCall[];
  readonly endedAt?: string;
  readonly errorMessage?: string;
}

/** An event of a record, and where it comes from. */
export interface SyndicationStep {
  readonly eventId: string;
  readonly commandId: string;
  readonly event: SyndicationEvent;
}

/** @param latest the record behind the last of the steps */
export const syndicationJobs = (
  steps: readonly SyndicationStep[],
  latest: SyndicationState,
): readonly SyndicationJob[] => {
  const jobs = new Map<number, SyndicationJob>();
  for (const step of steps) {
    const { generation } = step.event.data;
    jobs.set(generation, jobAfter(jobs.get(generation), step));
  }
  return [...jobs.values()].flatMap((job) => {
    const isOver = latest.status === 'NONE' || latest.generation !== job.generation;
    // Nothing is to be dropped where the agent never had it.
    if (job.work === 'DROP' && job.steps.length === 0 && (isOver || !isWaiting(latest))) return [];
    return [isOver && isOpen(job) ? superseded(job) : job];
  });
};

const isOpen = ({ status }: { readonly status: JobStatus }): boolean =>
  status === 'WAITING' || status === 'RUNNING';

const superseded = (job: SyndicationJob): SyndicationJob => ({
  ...job,
  status: 'SUPERSEDED',
  calls: job.calls.map((call) => (isOpen(call) ? { ...call, status: 'SUPERSEDED' } : call)),
});

const jobAfter = (
  before: SyndicationJob | undefined,
  { eventId, commandId, event }: SyndicationStep,
): SyndicationJob => {
  const { generation } = event.data;
  const at = event.occurredAt;
  if (event.type === 'SyndicationToggled' || event.type === 'SyndicationRefreshed') {
    const work = event.type === 'SyndicationToggled' && !event.data.enabled ? 'DROP' : 'TAKE';
    const begun = { commandId, at, alsoCausedBy: event.data.alsoCausedBy };
    return { generation, work, status: 'WAITING', begun, joinedBy: [], steps: [], calls: [] };
  }
  const known: SyndicationJob = before ?? {
    generation,
    work: event.type === 'SyndicationWithdrawn' ? 'DROP' : 'TAKE',
    status: 'WAITING',
    joinedBy: [],
    steps: [],
    calls: [],
  };
  const job = { ...known, steps: [...known.steps, eventId] };
  switch (event.type) {
    case 'SyndicationStarted':
      return {
        ...job,
        status: 'RUNNING',
        joinedBy: joinedBy(job, event.data.alsoCausedBy),
        calls: [...job.calls, { askedAt: at, status: 'RUNNING' }],
      };
    case 'SyndicationSubmitted': {
      const { taskId, taskOf, idempotencyKey } = event.data;
      const takenIn = { taskId, taskOf, idempotencyKey };
      return {
        ...job,
        status: 'RUNNING',
        calls: withTakenIn(job.calls, { takenIn, askedAt: at, status: 'RUNNING' }),
      };
    }
    case 'SyndicationRetried':
      return { ...job, errorMessage: event.data.errorMessage };
    case 'SyndicationCompleted': {
      const end = { status: 'COMPLETED', endedAt: at } as const;
      const calls = ended(job.calls, { ...end, responseData: event.data.responseData });
      return { ...withoutError(job), ...end, calls };
    }
    case 'SyndicationFailed': {
      const end = { status: 'FAILED', endedAt: at, errorMessage: event.data.errorMessage } as const;
      return { ...job, ...end, calls: ended(job.calls, end) };
    }
    case 'SyndicationWithdrawn': {
      const { removed, reason } = event.data;
      if (!removed) {
        const end = {
          status: 'FAILED',
          endedAt: at,
          ...(reason === undefined ? {} : { errorMessage: reason }),
        } as const;
        return { ...job, ...end, calls: ended(job.calls, end) };
      }
      const end = { status: 'COMPLETED', endedAt: at } as const;
      const calls = job.calls.length === 0 ? [{ askedAt: at, status: 'RUNNING' } as const] : job.calls;
      return { ...withoutError(job), ...end, calls: ended(calls, end) };
    }
    default:
      return (event satisfies never, job);
  }
};

/** What went wrong before it was done is no longer of interest. */
const withoutError = ({ errorMessage: _error, ...job }: SyndicationJob): SyndicationJob => job;

/** Those that are named now, and were not when it began; where that is not known, none. */
const joinedBy = ({ begun }: SyndicationJob, named: OtherCauses = []): readonly string[] => {
  if (begun === undefined) return [];
  const before = new Set(begun.alsoCausedBy?.map(({ correlationId }) => correlationId));
  return named
    .filter(({ correlationId }) => !before.has(correlationId))
    .map(({ causationId }) => causationId);
};

/** The one that was asked last is the one that was taken in; when that had been before, it has ended, and this is another one. */
const withTakenIn = (calls: readonly AgentCall[], taken: AgentCall): readonly AgentCall[] => {
  const last = calls.at(-1);
  if (last === undefined || last.takenIn !== undefined) {
    const { askedAt: endedAt } = taken;
    return [...ended(calls, { status: 'COMPLETED', endedAt }), taken];
  }
  return [...calls.slice(0, -1), { ...taken, askedAt: last.askedAt }];
};

const ended = (
  calls: readonly AgentCall[],
  end: Pick<AgentCall, 'status' | 'endedAt' | 'responseData' | 'errorMessage'>,
): readonly AgentCall[] => calls.map((call) => (isOpen(call) ? { ...call, ...end } : call));
