import { z } from 'zod';
import { accept, type Decision, type EventsOf } from '../decision.ts';

/** A sync writes several streams and may stop half way. With the recorded plan a repeat gives the same answer. */

const RESOURCE_SYNC = 'resourceSync';

const resourceSyncStream = (customerId: number, commandId: string): string =>
  `${RESOURCE_SYNC}-${customerId}-${commandId}`;

const ResourceSyncPlanned = z.object({
  advertiserId: z.int(),
  /** Keys to delete because the sync does not contain them. */
  missing: z.array(z.string()),
  refused: z.array(z.string()),
});

const resourceSyncEvents = {
  ResourceSyncPlanned: { schemaVersion: 1, data: ResourceSyncPlanned },
} as const;

export type ResourceSyncPlan = z.infer<typeof ResourceSyncPlanned>;
export type ResourceSyncEvent = EventsOf<typeof resourceSyncEvents>;
export type ResourceSync = { readonly status: 'NONE' } | ({ readonly status: 'PLANNED' } & ResourceSyncPlan);

export interface PlanResourceSync {
  readonly type: 'PlanResourceSync';
  readonly now: string;
  readonly plan: ResourceSyncPlan;
}

export const resourceSyncAggregate = {
  category: RESOURCE_SYNC,
  stream: resourceSyncStream,
  events: resourceSyncEvents,
  initialState: { status: 'NONE' } as const,
  evolve: (_state: ResourceSync, event: ResourceSyncEvent): ResourceSync => ({
    status: 'PLANNED',
    ...event.data,
  }),
  decide: ({ now, plan }: PlanResourceSync, state: ResourceSync): Decision<ResourceSyncEvent, never> =>
    state.status === 'PLANNED'
      ? accept()
      : accept({ type: 'ResourceSyncPlanned', data: plan, occurredAt: now }),
};
