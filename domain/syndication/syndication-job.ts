import { z } from 'zod';
import type { OtherCauses } from '../causation.ts';
import type { SyndicationEvent } from './events.ts';
import type { JsonMembers, TaskOf } from './resource.ts';
import { isWaiting } from './syndication-states.ts';
import type { SyndicationState } from './syndication.ts';

export const JobStatus = z.enum(['WAITING', 'RUNNING', 'COMPLETED', 'FAILED', 'SUPERSEDED']);
export type JobStatus = z.infer<typeof JobStatus>;

/** No event records an immediate answer: the end of the job shows its result. */

/** Each call that the agent accepted to finish later is separate. */
export interface AgentCall {
  readonly accepted?: { readonly taskId: string; readonly taskOf: TaskOf; readonly idempotencyKey: string };
  readonly askedAt: string;
  readonly status: Exclude<JobStatus, 'WAITING'>;
  readonly endedAt?: string;
  readonly responseData?: JsonMembers;
  readonly errorMessage?: string;
}

export interface SyndicationJob {
  readonly generation: number;
  /** TAKE: send the resource; DROP: delete it. */
  readonly work: 'TAKE' | 'DROP';
  readonly status: JobStatus;
  readonly begun?: {
    readonly commandId: string;
    readonly at: string;
    readonly alsoCausedBy?: OtherCauses | undefined;
  };
  readonly joinedBy: readonly string[];
  readonly steps: readonly string[];
  readonly calls: readonly AgentCall[];
  readonly endedAt?: string;
  readonly errorMessage?: string;
}

export interface SyndicationStep {
  readonly eventId: string;
  readonly commandId: string;
  readonly event: SyndicationEvent;
}

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
    // The agent never had the resource, so there was nothing to delete.
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
      const accepted = { taskId, taskOf, idempotencyKey };
      return {
        ...job,
        status: 'RUNNING',
        calls: withAccepted(job.calls, { accepted, askedAt: at, status: 'RUNNING' }),
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

/** A success makes an earlier error uninteresting. */
const withoutError = ({ errorMessage: _error, ...job }: SyndicationJob): SyndicationJob => job;

/** Causes named now but not at the beginning; none if the beginning is unknown. */
const joinedBy = ({ begun }: SyndicationJob, named: OtherCauses = []): readonly string[] => {
  if (begun === undefined) return [];
  const before = new Set(begun.alsoCausedBy?.map(({ correlationId }) => correlationId));
  return named
    .filter(({ correlationId }) => !before.has(correlationId))
    .map(({ causationId }) => causationId);
};

/** The last call is the accepted one. If it was accepted before, it has ended, and this is another call. */
const withAccepted = (calls: readonly AgentCall[], taken: AgentCall): readonly AgentCall[] => {
  const last = calls.at(-1);
  if (last === undefined || last.accepted !== undefined) {
    const { askedAt: endedAt } = taken;
    return [...ended(calls, { status: 'COMPLETED', endedAt }), taken];
  }
  return [...calls.slice(0, -1), { ...taken, askedAt: last.askedAt }];
};

const ended = (
  calls: readonly AgentCall[],
  end: Pick<AgentCall, 'status' | 'endedAt' | 'responseData' | 'errorMessage'>,
): readonly AgentCall[] => calls.map((call) => (isOpen(call) ? { ...call, ...end } : call));
