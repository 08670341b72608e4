import { taskDecider, taskEvents, taskStream } from '../../domain/tasks/task.ts';
import type { TaskAccepted } from '../../domain/tasks/task-resource.ts';
import { isoTimestamp, type Clock } from '../../shared/clock.ts';
import { executeCommand, loadState } from '../../shared/command/execute-command.ts';
import type { EventStore } from '../../shared/event-store/event-store.ts';
import type { RequestContext } from '../../shared/http/route.ts';
import { derivedId } from '../../shared/ids.ts';

const tasks = { decider: taskDecider, events: taskEvents };

/** What a request says of its task; the rest follows from the request. */
type AskedTask = TaskAccepted extends infer Task
  ? Task extends TaskAccepted
    ? Omit<Task, 'taskId' | 'customerId'>
    : never
  : never;

/**
 * Records the task of a request, behind all that the request writes.
 * @returns its id, the same when the request is repeated
 */
export const acceptTask = async (
  { store, clock }: { readonly store: EventStore; readonly clock: Clock },
  asked: AskedTask,
  { commandId, requestId, isAbandoned, principal: { customerId, actor } }: RequestContext,
): Promise<string> => {
  const taskId = derivedId(commandId, 'task');
  const task: TaskAccepted = { taskId, customerId, ...asked };
  await executeCommand(store, tasks, {
    stream: taskStream(customerId, taskId),
    command: { type: 'AcceptTask', now: isoTimestamp(clock.now()), task },
    context: { commandId: taskId, customerId, actor, requestId },
    isAbandoned,
  });
  return taskId;
};

/** A task as its stream says; undefined when there is none. */
export const loadTask = async (
  { store }: { readonly store: EventStore },
  customerId: number,
  taskId: string,
): Promise<(TaskAccepted & { readonly acceptedAt: string }) | undefined> => {
  const state = await loadState(store, tasks, taskStream(customerId, taskId));
  return state.status === 'NONE' ? undefined : state;
};
