import { z } from 'zod';
import { SyncTask } from '../agents/resource.ts';
import { JobStatus } from '../syndication/syndication-job.ts';
import { JsonMembers, ResourceType, TaskOf } from '../syndication/resource.ts';
import { AuditLog, who, type ActorOrigin } from './audit-log-resource.ts';
import { Timestamp } from '../values.ts';

const job = {
  worker: z.string().meta({ description: 'E.g. `syndication`, `sellers`, `catalog-feeds`.' }),
  work: z.enum(['TAKE', 'DROP']).optional().meta({
    description: 'For a syndication: TAKE sends the resource to the agent, DROP deletes it there.',
  }),
  status: JobStatus.meta({
    description: 'The present status. SUPERSEDED: a later toggle or change replaced the job before it ended.',
  }),
  recordId: z.string().optional().meta({ description: 'Id of the syndication record.' }),
  resourceType: ResourceType.optional(),
  resourceId: z.string().optional(),
  adcpAgentId: z.string().optional(),
  begunAt: Timestamp.optional(),
  endedAt: Timestamp.optional(),
  errorMessage: z.string().optional(),
};

const call = {
  adcpAgentId: z.string(),
  task: SyncTask.meta({ description: 'The AdCP task of the call.' }),
  status: JobStatus,
  askedAt: Timestamp,
  endedAt: Timestamp.optional(),
  agentTaskId: z.string().optional().meta({
    description: "The agent's task id, if it accepted the call to finish it later.",
  }),
  agentTaskOf: TaskOf.optional(),
  idempotencyKey: z.string().optional(),
  responseData: JsonMembers.optional(),
  errorMessage: z.string().optional(),
};

export interface CommandNode {
  readonly kind: 'command';
  readonly id: string;
  readonly causedBy: string | null;
  readonly actorOrigin: ActorOrigin;
  readonly actor: string;
  readonly userId?: string | undefined;
  readonly requestId: string;
  readonly events: readonly AuditLog[];
  readonly followedBy: readonly CauseNode[];
}

export type JobFacts = z.infer<z.ZodObject<typeof job>>;
export type JobNode = JobFacts & {
  readonly kind: 'job';
  readonly id: string;
  readonly causedBy: string | null;
  readonly events: readonly AuditLog[];
  readonly followedBy: readonly CauseNode[];
};

export type CallFacts = z.infer<z.ZodObject<typeof call>>;
export type AgentCallNode = CallFacts & {
  readonly kind: 'agentCall';
  readonly id: string;
  readonly causedBy: string | null;
};

export type CauseNode = CommandNode | JobNode | AgentCallNode;

const place = {
  id: z.string().meta({ description: 'For a command: the `causationId` of its events.' }),
  causedBy: z.string().nullable().meta({
    description:
      '`id` of its cause, which may be on an earlier page. Null for the request itself, or if the cause is unknown.',
  }),
};
const events = z.array(AuditLog).readonly();
const followedBy = z
  .array(z.lazy(() => CauseNode))
  .readonly()
  .meta({ description: 'Its effects, in the order of the log.' });

export const CauseNode: z.ZodType<CauseNode> = z
  .discriminatedUnion('kind', [
    z.strictObject({
      kind: z.literal('command'),
      ...place,
      ...who,
      requestId: z.string(),
      events,
      followedBy,
    }),
    z.strictObject({ kind: z.literal('job'), ...place, ...job, events, followedBy }),
    z.strictObject({ kind: z.literal('agentCall'), ...place, ...call }),
  ])
  .meta({ id: 'CauseNode' });
