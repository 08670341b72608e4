import { z } from 'zod';
import type { EventsOf } from '../decision.ts';
import { changesShape, createdShape } from '../fields.ts';
import { CapReplacement } from '../frequency-caps/resource.ts';
import { advertiserFields } from './resource.ts';

export const AdvertiserCreated = z.object({
  advertiserId: z.int(),
  customerId: z.int(),
  ...createdShape(advertiserFields),
});
const AdvertiserChanges = z.object(changesShape(advertiserFields));
const nothingMore = z.object({});

export const advertiserEvents = {
  AdvertiserCreated: { schemaVersion: 1, data: AdvertiserCreated },
  AdvertiserUpdated: { schemaVersion: 1, data: z.object({ changes: AdvertiserChanges }) },
  /** The whole new set, in order. A cap with an earlier id is the same cap; ids left out are archived. */
  AdvertiserFrequencyCapsReplaced: { schemaVersion: 1, data: CapReplacement },
  AdvertiserCurrencyLocked: { schemaVersion: 1, data: nothingMore },
  AdvertiserArchived: { schemaVersion: 1, data: nothingMore },
  AdvertiserRestored: { schemaVersion: 1, data: nothingMore },
} as const;

export type AdvertiserEvent = EventsOf<typeof advertiserEvents>;
export type AdvertiserCreated = z.infer<typeof AdvertiserCreated>;
export type AdvertiserChanges = z.infer<typeof AdvertiserChanges>;
