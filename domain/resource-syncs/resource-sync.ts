import { accept, type Decision } from '../decision.ts';
import { resourceSyncEvents, type ResourceSyncEvent, type ResourceSyncPlan } from './events.ts';

/** A sync writes several streams and may stop half way. With the recorded plan a repeat gives the same answer. */

const RESOURCE_SYNC = 'resourceSync';

const resourceSyncStream = (customerId: number, commandId: string): string =>
  `${RESOURCE_SYNC}-${customerId}-${commandId}`;

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
