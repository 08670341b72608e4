import { z } from 'zod';
import { ReviewStatus } from '../creatives/seller-review-resource.ts';

const Timestamp = z.iso.datetime({ precision: 3 });

const identity = { taskId: z.string(), customerId: z.int(), advertiserId: z.int() };

const SyncedAudience = z.object({
  /** Null: it failed, and the sync did not say which one it is. */
  audienceId: z.string().nullable(),
  action: z.enum(['created', 'updated', 'unchanged', 'deleted', 'failed']),
  /** Place in the sync, from 0; of those that failed. */
  index: z.int().optional(),
  error: z.string().optional(),
  /** Members of it that failed; absent when none did. */
  membersFailed: z.int().optional(),
});

const FailedMember = z.object({
  audienceId: z.string(),
  list: z.enum(['add', 'remove']),
  /** Place in the list, from 0. */
  index: z.int(),
  /** Never repeats what was sent. */
  reason: z.string(),
});

/** What a sync of audiences came to, item by item. */
const AudienceSync = z.object({
  ...identity,
  taskType: z.literal('audience_sync'),
  response: z.object({
    audiences: z.array(SyncedAudience),
    /** The first of all audiences; absent when none failed. */
    failedMembers: z.array(FailedMember).optional(),
  }),
});
export type AudienceSyncResponse = z.infer<typeof AudienceSync>['response'];
export type FailedMember = z.infer<typeof FailedMember>;

/** Where a creative was brought, and how it stood there right then. */
const CreativeSync = z.object({
  ...identity,
  taskType: z.literal('creative_sync'),
  /** As it is shown. */
  creativeId: z.string(),
  response: z.object({ sellers: z.array(z.object({ sellerId: z.int(), status: ReviewStatus })) }),
});

/** An accepted task. It is done when the read models that it is about hold all that was written before it. */
export const TaskAccepted = z.discriminatedUnion('taskType', [AudienceSync, CreativeSync]);
export type TaskAccepted = z.infer<typeof TaskAccepted>;

/** A task as the API shows it (decisions.md section 2). What is not known yet is null. */
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

/**
 * Why nothing of it was done; null when something was, or there was nothing to do. A creative's submission is done with
 * its being submitted.
 */
const errorOf = (task: TaskAccepted): string | null => {
  if (task.taskType !== 'audience_sync') return null;
  const { audiences } = task.response;
  const [first] = audiences;
  if (first === undefined || audiences.some(({ action }) => action !== 'failed')) return null;
  const why = `${first.audienceId ?? `audiences.${first.index ?? 0}`}: ${first.error ?? 'failed'}`;
  return audiences.length === 1 ? why : `None of ${audiences.length} audiences was synced. ${why}`;
};

/** @param isDone false while what was accepted is still being applied */
export const taskResource = (task: TaskAccepted, acceptedAt: string, isDone: boolean): TaskResource => ({
  taskId: task.taskId,
  taskType: task.taskType,
  status: isDone ? (errorOf(task) === null ? 'completed' : 'failed') : 'working',
  ...(task.taskType === 'creative_sync'
    ? { resourceType: 'CREATIVE', resourceId: task.creativeId }
    : { resourceType: 'ADVERTISER', resourceId: String(task.advertiserId) }),
  error: isDone ? errorOf(task) : null,
  response: isDone ? task.response : null,
  metadata: {},
  retryAfterSeconds: isDone ? null : 1,
  createdAt: acceptedAt,
  updatedAt: acceptedAt,
});
