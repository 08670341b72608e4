import { taskAggregate } from '../../domain/tasks/task.ts';
import type { TaskAccepted } from '../../domain/tasks/resource.ts';
import { isoTimestamp, type Clock } from '../../shared/async/clock.ts';
import { handlerFor, type CommandStores } from '../../shared/aggregate/handler-for.ts';
import type { RequestContext } from '../../shared/http/route.ts';
import { derivedId } from '../../shared/aggregate/ids.ts';

const tasks = handlerFor(taskAggregate);

type RequestedTask = TaskAccepted extends infer Task
  ? Task extends TaskAccepted
    ? Omit<Task, 'taskId' | 'customerId'>
    : never
  : never;

/** Call it after all other writes. @returns the task's id, the same when the request is repeated */
export const acceptTask = async (
  { clock, ...stores }: CommandStores & { readonly clock: Clock },
  asked: RequestedTask,
  request: RequestContext,
): Promise<string> => {
  const taskId = derivedId(request.commandId, 'task');
  const task: TaskAccepted = { taskId, customerId: request.principal.customerId, ...asked };
  const command = { type: 'AcceptTask', now: isoTimestamp(clock.now()), task } as const;
  await tasks.run(stores, taskId, command, { ...request, commandId: taskId });
  return taskId;
};
