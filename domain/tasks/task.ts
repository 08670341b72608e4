import { accept, type Decision } from '../decision.ts';
import { taskEvents, type TaskEvent } from './events.ts';
import type { TaskAccepted } from './resource.ts';

export const TASK = 'task';

export const taskStream = (customerId: number, taskId: string): string => `${TASK}-${customerId}-${taskId}`;

export type Task =
  { readonly status: 'NONE' } | ({ readonly status: 'ACCEPTED'; readonly acceptedAt: string } & TaskAccepted);

interface AcceptTask {
  readonly type: 'AcceptTask';
  readonly now: string;
  readonly task: TaskAccepted;
}

/** The request's last event: its reader has read all of the request. */
export const taskFold = {
  category: TASK,
  stream: taskStream,
  events: taskEvents,
  initialState: { status: 'NONE' } as const,
  evolve: (_state: Task, { data, occurredAt }: TaskEvent): Task => ({
    status: 'ACCEPTED',
    acceptedAt: occurredAt,
    ...data,
  }),
};
export const taskAggregate = {
  ...taskFold,
  decide: ({ now, task }: AcceptTask, state: Task): Decision<TaskEvent, never> =>
    state.status === 'ACCEPTED' ? accept() : accept({ type: 'TaskAccepted', data: task, occurredAt: now }),
};
