import { z } from 'zod';
import type { EventsOf } from '../decision.ts';

const ResourceSyncPlanned = z.object({
  advertiserId: z.int(),
  /** Keys to delete because the sync does not contain them. */
  missing: z.array(z.string()),
  refused: z.array(z.string()),
});

export const resourceSyncEvents = {
  ResourceSyncPlanned: { schemaVersion: 1, data: ResourceSyncPlanned },
} as const;

export type ResourceSyncPlan = z.infer<typeof ResourceSyncPlanned>;
export type ResourceSyncEvent = EventsOf<typeof resourceSyncEvents>;
