import { z } from 'zod';
import type { EventsOf } from '../decision.ts';
import { OtherCauses } from '../causation.ts';
import { AccountReference, JsonMembers, ResourceType, TaskOf } from './resource.ts';

/** Each effective toggle and change at the agent starts one; events of earlier ones do not count. */
const generation = z.int().min(1);

/** The resource's stream was searched for causes up to this revision. Absent in older events. */
const resourceRevision = z.int().min(0).optional();

/** Every step of a generation repeats the causes known so far, so that each request leads to all steps. */
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
  /** A sentence for the buyer: why the record waits. Absent: no known problem. */
  errorMessage: z.string().optional(),
  generation,
  resourceRevision,
  alsoCausedBy,
});

/** The resource changed after the agent had accepted it, so the agent must be updated. */
const SyndicationRefreshed = z.object({ generation, resourceRevision, alsoCausedBy });
const SyndicationStarted = z.object({
  generation,
  /** The same for every attempt of this generation, even if the resource changes. Refers to large content. */
  request: JsonMembers,
  resourceRevision,
  alsoCausedBy,
});
/** Also recorded after the generation is over: the agent's task must end before the next call. */
const SyndicationSubmitted = z.object({
  generation,
  idempotencyKey: z.string(),
  taskId: z.string(),
  taskOf: TaskOf,
  alsoCausedBy,
});
const SyndicationRetried = z.object({
  generation,
  attempt: z.int().min(1),
  errorMessage: z.string(),
  dueAt: z.string(),
  alsoCausedBy,
});
const SyndicationCompleted = z.object({ generation, responseData: JsonMembers, alsoCausedBy });
const SyndicationFailed = z.object({ generation, errorMessage: z.string(), alsoCausedBy });
/** The agent deleted the resource, or could not be asked to. */
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

/** Events of resources whose content agents do not receive. */
const UNCHANGING: readonly string[] = ['CatalogFeedAsked', 'CatalogFeedFailed'];

export const isSyndicatedChange = ({ type }: { readonly type: string }): boolean =>
  !UNCHANGING.includes(type);
