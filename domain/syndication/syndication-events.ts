import { z } from 'zod';
import type { EventsOf } from '../decision.ts';
import { OtherCauses } from '../causation.ts';
import { AccountReference, JsonMembers, ResourceType, TaskOf } from './syndication-resource.ts';

/**
 * Every effective toggle, and every change of what the agent has, starts a generation. Later events carry the
 * generation's number, and count only until a later generation starts.
 */
const generation = z.int().min(1);

/**
 * The revision up to which the resource's stream was searched for causes. The start of the generation names the
 * causes of later changes, up to the time when the resource is read. Absent in events older than this member.
 */
const resourceRevision = z.int().min(0).optional();

/**
 * Further requests that caused this event. Absent: none. Every step of a generation repeats the causes known so far,
 * so that each of these requests leads to all steps.
 */
const alsoCausedBy = OtherCauses.optional();

const SyndicationToggled = z.object({
  recordId: z.string(),
  customerId: z.int(),
  advertiserId: z.int(),
  resourceType: ResourceType,
  resourceId: z.string(),
  agentId: z.string(),
  account: AccountReference,
  enabled: z.boolean(),
  /** Why the record waits, in a sentence for the buyer: its agent is unreachable. Absent: no known problem. */
  errorMessage: z.string().optional(),
  generation,
  resourceRevision,
  alsoCausedBy,
});

/** The resource changed after the agent had accepted it, so the agent must be updated. */
const SyndicationRefreshed = z.object({ generation, resourceRevision, alsoCausedBy });
const SyndicationStarted = z.object({
  generation,
  /**
   * The request to the agent, the same for every attempt of this generation, even if the resource changes meanwhile.
   * Large content is only referred to.
   */
  request: JsonMembers,
  resourceRevision,
  alsoCausedBy,
});
/**
 * The agent accepted a call and will finish it later. This is recorded even if the generation is over by then: the
 * agent's task must end before the next call.
 */
const SyndicationSubmitted = z.object({
  generation,
  idempotencyKey: z.string(),
  taskId: z.string(),
  taskOf: TaskOf,
  alsoCausedBy,
});
/** An attempt failed: the agent did not answer, or asked for a later retry. */
const SyndicationRetried = z.object({
  generation,
  attempt: z.int().min(1),
  errorMessage: z.string(),
  dueAt: z.string(),
  alsoCausedBy,
});
const SyndicationCompleted = z.object({ generation, responseData: JsonMembers, alsoCausedBy });
const SyndicationFailed = z.object({ generation, errorMessage: z.string(), alsoCausedBy });
/** After the record was switched off: the agent deleted the resource, or could not be asked to. */
const SyndicationWithdrawn = z.object({
  generation,
  removed: z.boolean(),
  reason: z.string().optional(),
  alsoCausedBy,
});

export const syndicationEvents = {
  SyndicationToggled: { schemaVersion: 1, data: SyndicationToggled },
  SyndicationRefreshed: { schemaVersion: 1, data: SyndicationRefreshed },
  SyndicationStarted: { schemaVersion: 1, data: SyndicationStarted },
  SyndicationSubmitted: { schemaVersion: 1, data: SyndicationSubmitted },
  SyndicationRetried: { schemaVersion: 1, data: SyndicationRetried },
  SyndicationCompleted: { schemaVersion: 1, data: SyndicationCompleted },
  SyndicationFailed: { schemaVersion: 1, data: SyndicationFailed },
  SyndicationWithdrawn: { schemaVersion: 1, data: SyndicationWithdrawn },
} as const;

export type SyndicationEvent = EventsOf<typeof syndicationEvents>;
export type SyndicationToggled = z.infer<typeof SyndicationToggled>;
export type SyndicationRefreshed = z.infer<typeof SyndicationRefreshed>;
export type SyndicationRetried = z.infer<typeof SyndicationRetried>;
export type SyndicationSubmitted = z.infer<typeof SyndicationSubmitted>;
