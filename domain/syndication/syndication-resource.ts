import { z } from 'zod';
import { shownAgentId } from '../agents/agent-resource.ts';
import type { OtherCauses } from '../causation.ts';
import { shownIds } from '../shown-id.ts';

export const ResourceType = z.enum(['AUDIENCE', 'EVENT_SOURCE', 'CATALOG']);
export type ResourceType = z.infer<typeof ResourceType>;

export const SyndicationStatus = z.enum(['PENDING', 'SYNCING', 'COMPLETED', 'FAILED', 'DISABLED']);
export type SyndicationStatus = z.infer<typeof SyndicationStatus>;

/** Who the buyer is at the agent: AdCP's account reference. */
export const AccountReference = z.union([
  z.object({ account_id: z.string() }),
  z.object({ brand: z.object({ domain: z.string() }), operator: z.string() }),
]);
export type AccountReference = z.infer<typeof AccountReference>;

export const JsonMembers = z.record(z.string(), z.json());
export type JsonMembers = z.infer<typeof JsonMembers>;

/** Whose `tasks/get` knows an agent's task: AdCP's, which is the same over every protocol, or that of A2A itself. */
export const TaskOf = z.enum(['ADCP', 'A2A']);
export type TaskOf = z.infer<typeof TaskOf>;

/** A call that an agent has taken in: it is asked what became of it until that is known. */
export interface SubmittedCall {
  readonly generation: number;
  readonly idempotencyKey: string;
  readonly taskId: string;
  readonly taskOf: TaskOf;
  readonly submittedAt: string;
}

/** What is known of the resource at the agent. */
export type AtAgent =
  /** The agent was never asked to take it, or has dropped it. */
  | { readonly is: 'NOTHING' }
  /** The agent was asked to take it. `older`: an earlier state, which stays there while the newer one fails. */
  | { readonly is: 'MAYBE'; readonly older?: JsonMembers | undefined }
  /** The agent has exactly `older`, and is to be brought up to date. */
  | { readonly is: 'EXACTLY'; readonly older: JsonMembers }
  /**
   * The agent is to drop it. Until a record that was switched on again is COMPLETED: the agent was perhaps told what else
   * stays, and may have dropped what came since.
   */
  | { readonly is: 'DROPPING' }
  /** The agent could not be told to drop it, and this is no longer tried. */
  | { readonly is: 'LEFT' };

/** One resource of an advertiser at one agent. */
export interface SyndicationRecord {
  /** UUID that follows from the four that identify it. */
  readonly recordId: string;
  readonly customerId: number;
  readonly advertiserId: number;
  readonly resourceType: ResourceType;
  readonly resourceId: string;
  readonly agentId: string;
  readonly account: AccountReference;
  readonly status: SyndicationStatus;
  readonly atAgent: AtAgent;
  /** How many toggles, and changes of the resource, have led to work. */
  readonly generation: number;
  /** What the agent is asked for in this generation, once that is known. */
  readonly request: JsonMembers | null;
  /** What the agent is at, as far as is known; of an earlier generation while this one has not begun. */
  readonly submitted?: SubmittedCall | undefined;
  /** Up to which revision it is known who has changed the resource; of what was begun before that was recorded it is not. */
  readonly resourceRevision?: number | undefined;
  /** Requests that this generation follows from, beside the one that it belongs to. */
  readonly alsoCausedBy?: OtherCauses | undefined;
  /** Why it is FAILED; while it is tried, what went wrong last. */
  readonly errorMessage: string | null;
  readonly responseData: JsonMembers | null;
  readonly createdAt: string;
  readonly updatedAt: string;
  readonly completedAt: string | null;
}

const Timestamp = z.iso.datetime({ precision: 3 });

/** A syndication record as the API shows it (specification, Syndication record). */
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
