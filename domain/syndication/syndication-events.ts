import { z } from 'zod';
import type { EventsOf } from '../decision.ts';
import { OtherCauses } from '../causation.ts';
import { AccountReference, JsonMembers, ResourceType, TaskOf } from './syndication-resource.ts';

/**
 * Every toggle that changes something begins a generation, and so does a change of what the agent has. What follows from it
 * carries the generation's number, and counts only while no later one has begun.
 */
const generation = z.int().min(1);

/**
 * Up to which revision the resource's stream was looked at. Whoever has changed it behind that, and before it is read for
 * the agent, is named by the start of the generation. Absent of events of before this was recorded.
 */
const resourceRevision = z.int().min(0).optional();

/**
 * Requests that this follows from beside the one that it belongs to. Absent: there is none. Steps of a generation name
 * those that it has got so far, so that each of the requests leads to all of them.
 */
const alsoCausedBy = OtherCauses.optional();

const SyndicationToggled = z.object({
  recordId: z.string(),
  customerId: z.int(),
  advertiserId: z.int(),
  resourceType: ResourceType,
  /** The buyer's own id of it. */
  resourceId: z.string(),
  agentId: z.string(),
  account: AccountReference,
  enabled: z.boolean(),
  /** Why it waits, in words for the buyer: its agent is known not to answer. Absent: nothing is known to be in its way. */
  errorMessage: z.string().optional(),
  generation,
  resourceRevision,
  alsoCausedBy,
});

/** The resource was changed after the agent had taken it: the agent is to be brought up to date. */
const SyndicationRefreshed = z.object({ generation, resourceRevision, alsoCausedBy });
const SyndicationStarted = z.object({
  generation,
  /**
   * What the agent is asked for: the same for every try of this generation, whatever is changed meanwhile. Content that
   * is large is only referred to.
   */
  request: JsonMembers,
  resourceRevision,
  alsoCausedBy,
});
/**
 * The agent has taken a call in and will finish it later. Its generation may be over by then, and what the agent is at
 * all the same must end before the next one is heard: of that generation, too, this is recorded.
 */
const SyndicationSubmitted = z.object({
  generation,
  /** Of the call. */
  idempotencyKey: z.string(),
  /** The agent's own id of what it took in. */
  taskId: z.string(),
  taskOf: TaskOf,
  alsoCausedBy,
});
/** A try came to nothing: the agent did not answer, or wants to be asked later. */
const SyndicationRetried = z.object({
  generation,
  /** Which try of the generation it was, from 1. */
  attempt: z.int().min(1),
  errorMessage: z.string(),
  /** When the next try is due. */
  dueAt: z.string(),
  alsoCausedBy,
});
const SyndicationCompleted = z.object({ generation, responseData: JsonMembers, alsoCausedBy });
const SyndicationFailed = z.object({ generation, errorMessage: z.string(), alsoCausedBy });
/** The agent was told to drop what it had, after the record was switched off; or could not be. */
const SyndicationWithdrawn = z.object({
  generation,
  removed: z.boolean(),
  /** Why it could not be. */
  reason: z.string().optional(),
  alsoCausedBy,
});

/** Schema and current version of every event that a syndication record's stream can hold. */
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
