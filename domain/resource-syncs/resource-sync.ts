import { z } from 'zod';
import { accept, type Decision, type EventsOf } from '../decision.ts';

/**
 * A sync of many things is several streams, so it can stop half way. What it found before its first change is
 * written down first: whoever repeats it goes by the same plan, and comes to the same answer, whatever the
 * half that was done has changed.
 */

/** Category of the streams: their names begin with it. */
const RESOURCE_SYNC = 'resourceSync';

/** The stream of one sync, i.e. of one command. */
const resourceSyncStream = (customerId: number, commandId: string): string =>
  `${RESOURCE_SYNC}-${customerId}-${commandId}`;

const ResourceSyncPlanned = z.object({
  advertiserId: z.int(),
  /** Keys of what is deleted because the sync leaves it out. */
  missing: z.array(z.string()),
  /** Keys of what is new and finds no room any more. */
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
