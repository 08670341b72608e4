import { z } from 'zod';
import { ReviewStatus } from '../creatives/seller-reviews.ts';
import { Timestamp } from '../values.ts';

const identity = { taskId: z.string(), customerId: z.int(), advertiserId: z.int() };

const SyncedAudience = z.object({
  /** Null: it failed, and the sync did not name it. */
  audienceId: z.string().nullable(),
  action: z.enum(['created', 'updated', 'unchanged', 'deleted', 'failed']),
  index: z.int().optional(),
  error: z.string().optional(),
  membersFailed: z.int().optional(),
});

const FailedMember = z.object({
  audienceId: z.string(),
  list: z.enum(['add', 'remove']),
  index: z.int(),
  /** Never quotes the request. */
  reason: z.string(),
});

const AudienceSync = z.object({
  ...identity,
  taskType: z.literal('audience_sync'),
  response: z.object({
    audiences: z.array(SyncedAudience),
    /** The first failures of all audiences; absent when none failed. */
    failedMembers: z.array(FailedMember).optional(),
  }),
});
export type AudienceSyncResponse = z.infer<typeof AudienceSync>['response'];
export type FailedMember = z.infer<typeof FailedMember>;

const CreativeSync = z.object({
  ...identity,
  taskType: z.literal('creative_sync'),
  creativeId: z.string(),
  response: z.object({ sellers: z.array(z.object({ sellerId: z.int(), status: ReviewStatus })) }),
});

/** Completed when its read models have applied everything that was written before it. */
export const TaskAccepted = z.discriminatedUnion('taskType', [AudienceSync, CreativeSync]);
export type TaskAccepted = z.infer<typeof TaskAccepted>;

export const TaskResource = z
  .strictObject({
    taskId: z.uuid(),
    taskType: z.enum(['audience_sync', 'creative_sync']),
    status: z.enum(['submitted', 'working', 'completed', 'failed', 'input-required']),
    resourceType: z.enum(['ADVERTISER', 'CREATIVE']),
    resourceId: z.string(),
    error: z.string().nullable(),
    response: z.union([AudienceSync.shape.response, CreativeSync.shape.response]).nullable(),
    metadata: z.strictObject({}),
    retryAfterSeconds: z.int().nullable(),
    createdAt: Timestamp,
    updatedAt: Timestamp,
  })
  .meta({ id: 'Task' });

type TaskResource = z.infer<typeof TaskResource>;

/** Null if one audience succeeded or the sync was empty. A creative's submission cannot fail. */
export const taskError = (task: TaskAccepted): string | null => {
  if (task.taskType !== 'audience_sync') return null;
  const { audiences } = task.response;
  const [first] = audiences;
  if (first === undefined || audiences.some(({ action }) => action !== 'failed')) return null;
  const why = `${first.audienceId ?? `audiences.${first.index ?? 0}`}: ${first.error ?? 'failed'}`;
  return audiences.length === 1 ? why : `None of ${audiences.length} audiences was synced. ${why}`;
};

/** @param isDone false while the read models lag behind the task */
export const taskResource = (task: TaskAccepted, acceptedAt: string, isDone: boolean): TaskResource => ({
  taskId: task.taskId,
  taskType: task.taskType,
  status: isDone ? (taskError(task) === null ? 'completed' : 'failed') : 'working',
  ...(task.taskType === 'creative_sync'
    ? { resourceType: 'CREATIVE', resourceId: task.creativeId }
    : { resourceType: 'ADVERTISER', resourceId: String(task.advertiserId) }),
  error: isDone ? taskError(task) : null,
  response: isDone ? task.response : null,
  metadata: {},
  retryAfterSeconds: isDone ? null : 1,
  createdAt: acceptedAt,
  updatedAt: acceptedAt,
});
