import { z } from 'zod';
import { shownAgentId } from '../agents/resource.ts';
import type { OtherCauses } from '../causation.ts';
import { shownIds } from '../shown-id.ts';
import { Timestamp } from '../values.ts';

export const ResourceType = z.enum(['AUDIENCE', 'EVENT_SOURCE', 'CATALOG']);
export type ResourceType = z.infer<typeof ResourceType>;

export const SyndicationStatus = z.enum(['PENDING', 'SYNCING', 'COMPLETED', 'FAILED', 'DISABLED']);
export type SyndicationStatus = z.infer<typeof SyndicationStatus>;

/** The buyer at the agent, in AdCP's form. */
export const AccountReference = z.union([
  z.object({ account_id: z.string() }),
  z.object({ brand: z.object({ domain: z.string() }), operator: z.string() }),
]);
export type AccountReference = z.infer<typeof AccountReference>;

export const JsonMembers = z.record(z.string(), z.json());
export type JsonMembers = z.infer<typeof JsonMembers>;

/** AdCP over any transport, or A2A itself: its `tasks/get` serves the task. */
export const TaskOf = z.enum(['ADCP', 'A2A']);
export type TaskOf = z.infer<typeof TaskOf>;

export interface SubmittedCall {
  readonly generation: number;
  readonly idempotencyKey: string;
  readonly taskId: string;
  readonly taskOf: TaskOf;
  readonly submittedAt: string;
}

export type AtAgent =
  /** The agent was never asked to accept it, or has deleted it. */
  | { readonly is: 'NOTHING' }
  /** Asked to accept it. `older`: the version that the agent keeps while the newer one fails. */
  | { readonly is: 'MAYBE'; readonly older?: JsonMembers | undefined }
  /** The agent has exactly `older` and must be updated. */
  | { readonly is: 'EXACTLY'; readonly older: JsonMembers }
  /** The agent must delete it. Ends with a COMPLETED delivery: a delete may also remove later ones. */
  | { readonly is: 'DROPPING' }
  /** The agent could not be asked to delete it, and no retry follows. */
  | { readonly is: 'LEFT' };

export interface SyndicationRecord {
  /** Derived from account, advertiser, resource and agent. */
  readonly recordId: string;
  readonly customerId: number;
  readonly advertiserId: number;
  readonly resourceType: ResourceType;
  readonly resourceId: string;
  readonly agentId: string;
  readonly account: AccountReference;
  readonly status: SyndicationStatus;
  readonly atAgent: AtAgent;
  /** Number of toggles and changes of the resource that caused work. */
  readonly generation: number;
  /** Null before it is fixed. */
  readonly request: JsonMembers | null;
  /** Unfinished. May belong to an earlier generation until this one starts. */
  readonly submitted?: SubmittedCall | undefined;
  /** The causes of changes are known up to here; absent in older records. */
  readonly resourceRevision?: number | undefined;
  readonly alsoCausedBy?: OtherCauses | undefined;
  /** The reason of FAILED; during attempts, the last error. */
  readonly errorMessage: string | null;
  readonly responseData: JsonMembers | null;
  readonly createdAt: string;
  readonly updatedAt: string;
  readonly completedAt: string | null;
}

/** Specification, Syndication record. */
export const SyndicationResource = z
  .strictObject({
    id: z.string(),
    customerId: z.int(),
    advertiserId: z.string(),
    resourceType: ResourceType,
    resourceId: z.string(),
    audienceId: z.string().nullable(),
    eventSourceId: z.string().nullable(),
    catalogId: z.string().nullable(),
    adcpAgentId: z.string(),
    adcpAgentAccountId: z.string().nullable(),
    enabled: z.boolean(),
    status: SyndicationStatus,
    errorMessage: z.string().nullable(),
    responseData: JsonMembers.nullable(),
    createdAt: Timestamp,
    updatedAt: Timestamp,
    completedAt: Timestamp.nullable(),
  })
  .meta({ id: 'SyndicationRecord' });

export type SyndicationResource = z.infer<typeof SyndicationResource>;

const ids = shownIds('syn_');
export const shownSyndicationId = ids.shown;
export const syndicationIdOf = ids.idOf;

export const syndicationResource = (record: SyndicationRecord): SyndicationResource => ({
  id: shownSyndicationId(record.recordId),
  customerId: record.customerId,
  advertiserId: String(record.advertiserId),
  resourceType: record.resourceType,
  resourceId: record.resourceId,
  audienceId: record.resourceType === 'AUDIENCE' ? record.resourceId : null,
  eventSourceId: record.resourceType === 'EVENT_SOURCE' ? record.resourceId : null,
  catalogId: record.resourceType === 'CATALOG' ? record.resourceId : null,
  adcpAgentId: shownAgentId(record.agentId),
  adcpAgentAccountId: 'account_id' in record.account ? record.account.account_id : null,
  enabled: record.status !== 'DISABLED',
  status: record.status,
  errorMessage: record.errorMessage,
  responseData: record.responseData,
  createdAt: record.createdAt,
  updatedAt: record.updatedAt,
  completedAt: record.completedAt,
});
