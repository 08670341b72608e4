import { z } from 'zod';
import { taskResource, TaskResource, type TaskAccepted } from '../../domain/tasks/resource.ts';
import { taskFold } from '../../domain/tasks/task.ts';
import { loadState } from '../../shared/aggregate/load-stream.ts';
import type { SnapshotStore } from '../../shared/aggregate/snapshots.ts';
import type { EventStore } from '../../shared/event-store/event-store.ts';
import { notFound } from '../../shared/http/errors.ts';
import { declaration, route, type Route } from '../../shared/http/route.ts';
import { isoTimestampSql } from '../../shared/postgres/build-statement.ts';
import { boundTo } from '../../shared/postgres/tenant-database.ts';
import {
  freshnessColumns,
  freshnessOfBothSql,
  type Freshness,
} from '../../shared/follow-log/written-position.ts';
import { consistentRead, ReadModelBehindError } from '../../shared/follow-log/consistent-read.ts';
import type { ResourceReads } from '../resources/resource-reads.ts';

type AcceptedTask = TaskAccepted & { readonly acceptedAt: string };

export interface TaskReads extends ResourceReads {
  readonly store: EventStore;
  readonly snapshots: SnapshotStore;
}

const readModel = 'audiences';
const creatives = 'creatives';

export const taskRead = declaration({
  method: 'get',
  path: '/api/v2/buyer/tasks/{taskId}',
  operationId: 'getTask',
  summary: 'The status and result of a task',
  tag: 'Tasks',
  access: 'exchange:read',
  params: z.object({ taskId: z.string().meta({ description: 'Id of the task.' }) }),
});

export const taskReadRoutes = (reads: TaskReads): readonly Route[] => [
  route({
    ...taskRead,
    responses: { 200: { description: 'The task', data: z.strictObject({ task: TaskResource }) } },
    handle: async ({ params: { taskId }, request }) => {
      const { customerId } = request.principal;
      if (!z.uuid().safeParse(taskId).success) throw notFound('task');
      const { task, isDone } = await findTask(reads, customerId, taskId.toLowerCase());
      if (task === undefined) throw notFound('task');
      const { acceptedAt, ...accepted } = task;
      return { status: 200, data: { task: taskResource(accepted, acceptedAt, isDone) } };
    },
  }),
];

/** A read model that is behind may lack the task; a fresh one lacks it only after a purge. */
const findTask = async (
  reads: TaskReads,
  customerId: number,
  taskId: string,
): Promise<{ readonly task: AcceptedTask | undefined; readonly isDone: boolean }> => {
  try {
    return { task: await findDone(reads, customerId, taskId), isDone: true };
  } catch (error) {
    if (!(error instanceof ReadModelBehindError)) throw error;
    return { task: await loadState(reads, taskFold, customerId, taskId), isDone: false };
  }
};

/** Neither open nor purged. @throws ReadModelBehindError */
const findDone = async (
  { database, progress }: ResourceReads,
  customerId: number,
  taskId: string,
): Promise<AcceptedTask | undefined> => {
  const { body } = await consistentRead<Freshness & { readonly body: string | null }>({
    pool: boundTo(database, customerId),
    projection: readModel,
    progress,
    query: {
      name: 'get-task',
      text: `select ${freshnessColumns('f')},
               (select t.body::jsonb || jsonb_build_object('acceptedAt', ${isoTimestampSql('t.accepted_at')})
                from tasks t where t.customer_id = $1 and t.task_id = $4)::text as body
             from ${freshnessOfBothSql('$1', '$2', '$3')} f`,
      values: [customerId, readModel, creatives, taskId],
    },
  });
  return body === null ? undefined : (JSON.parse(body) as AcceptedTask);
};
