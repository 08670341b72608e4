import { accept, type Decision, type EventsOf } from '../decision.ts';
import { TaskAccepted } from './task-resource.ts';

export const TASK = 'task';

export const taskStream = (customerId: number, taskId: string): string => `${TASK}-${customerId}-${taskId}`;

export const taskEvents = {
  TaskAccepted: {
    schemaVersion: 2,
    data: TaskAccepted,
    // Version 2 adds failed members, and audiences without an id.
    upcasters: [<Data>(data: Data): Data => data],
  },
} as const;
export type TaskEvent = EventsOf<typeof taskEvents>;

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
