import { z } from 'zod';
import { taskFold, taskStream } from '../../domain/tasks/task.ts';
import { taskResource } from '../../domain/tasks/resource.ts';
import { taskRead } from './routes.ts';
import { auditedKind } from '../resources/audited-kind.ts';
import { pathTextId } from '../../shared/http/schemas.ts';
import { buyer } from '../resources/resource-paths.ts';

export const taskKind = auditedKind({
  ...taskFold,
  resourceType: 'TASK',
  noun: 'task',
  live: (state) => (state.status === 'NONE' ? undefined : state),
  idOf: ({ taskId }) => taskId,
  streamsOf: (customerId, shown) => [taskStream(customerId, shown.toLowerCase())],
  audited: ({ customerId: _customer, ...task }) => task,
  place: {
    path: `${buyer}/tasks/{taskId}`,
    params: z.object({ taskId: pathTextId('task') }),
    tag: 'Tasks',
    find: (customerId, { taskId }) =>
      z.uuid().safeParse(taskId).success
        ? { stream: taskStream(customerId, String(taskId).toLowerCase()) }
        : undefined,
  },
  details: [
    {
      route: taskRead,
      shown: (task) => ({ task: taskResource(task, task.acceptedAt, true) }),
    },
  ],
});
