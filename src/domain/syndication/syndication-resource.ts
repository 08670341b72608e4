import { z } from 'zod';
import { shownAgentId } from '../agents/agent-resource.ts';
import type { OtherCauses } from '../history/other-causes.ts';
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
  readonly enabled: boolean;
  readonly status: SyndicationStatus;
  /** How many toggles, and changes of the resource, have led to work. */
  readonly generation: number;
  /** What the agent is asked for in this generation, once that is known. */
  readonly request: JsonMembers | null;
  /**
   * What the agent has, exactly: the request of the generation before, when that was completed and this one only brings
   * it up to date.
   */
  readonly delivered: JsonMembers | null;
  /**
   * The older state of it that the agent has, when bringing it up to date has failed: it stays there until it is switched
   * off.
   */
  readonly stillThere?: JsonMembers | undefined;
  /**
   * The agent may have it: it was asked to take it and has not been told to drop it since. Of what is off: unless it
   * could not be told, and nobody tries any more.
   */
  readonly mayBeAtAgent: boolean;
  /**
   * It was switched on again before it was known to be dropped: an agent that was told what stays has perhaps dropped
   * what came since, and nobody else will tell it again.
   */
  readonly restIsUnsure?: boolean | undefined;
  /** What the agent is at, as far as is known; of an earlier generation while this one has not begun. */
  readonly submitted?: SubmittedCall | undefined;
  /** Up to which revision it is known who has changed the resource; of what was begun before that was recorded it is not. */
  readonly resourceRevision?: number | undefined;
  /** Requests that this generation follows from, beside the one that it belongs to. */
  readonly alsoCausedBy?: OtherCauses | undefined;
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
  enabled: record.enabled,
  status: record.status,
  errorMessage: record.errorMessage,
  responseData: record.responseData,
  createdAt: record.createdAt,
  updatedAt: record.updatedAt,
  completedAt: record.completedAt,
});

/** It is off, and the agent could not be told: it may have it still, and in it who was removed since. */
export const wasLeftThere = ({
  status,
  responseData,
}: Pick<SyndicationRecord, 'status' | 'responseData'>): boolean =>
  status === 'DISABLED' && Left.safeParse(responseData).success;

const Left = z.object({ withdrawal: z.object({ removed: z.literal(false) }) });

/** Work that a record is waiting for: to be brought to its agent, or to be dropped there. */
export const isWaiting = ({ status, mayBeAtAgent }: SyndicationRecord): boolean =>
  status === 'PENDING' || status === 'SYNCING' || (status === 'DISABLED' && mayBeAtAgent);
