import { accept, type Decider, type DomainEvent } from '../decision.ts';
import { TaskAccepted } from './task-resource.ts';

/** Category of the streams: their names begin with it. */
export const TASK = 'task';

export const taskStream = (customerId: number, taskId: string): string => `${TASK}-${customerId}-${taskId}`;

export const taskEvents = { TaskAccepted: { schemaVersion: 1, data: TaskAccepted } } as const;
export type TaskEvent = DomainEvent<'TaskAccepted', TaskAccepted>;

export type Task =
  { readonly status: 'NONE' } | ({ readonly status: 'ACCEPTED'; readonly acceptedAt: string } & TaskAccepted);

interface AcceptTask {
  readonly type: 'AcceptTask';
  readonly now: string;
  readonly task: TaskAccepted;
}

/** The last event of what a request writes: whoever has read it has read all of that. */
export const taskDecider: Decider<Task, AcceptTask, TaskEvent, never> = {
  initialState: { status: 'NONE' },
  evolve: (_state, { data, occurredAt }) => ({ status: 'ACCEPTED', acceptedAt: occurredAt, ...data }),
  decide: ({ now, task }, state) =>
    state.status === 'ACCEPTED' ? accept() : accept({ type: 'TaskAccepted', data: task, occurredAt: now }),
};
