import { z } from 'zod';
import type { DomainEvent } from '../decision.ts';
import {
  ApplyMode,
  Autonomy,
  Channel,
  Controls,
  CountryCode,
  CurrencyCode,
  Labels,
  LinkedBrand,
  UtmParameter,
} from './advertiser-resource.ts';
import { CapReplacement, RecordedCap } from '../frequency-caps/frequency-cap-resource.ts';

const AdvertiserCreated = z.object({
  advertiserId: z.int(),
  customerId: z.int(),
  name: z.string(),
  description: z.string().optional(),
  sandbox: z.boolean(),
  primaryCurrency: CurrencyCode,
  brandDomain: z.string().optional(),
  linkedBrand: LinkedBrand.optional(),
  brandCountries: z.array(CountryCode),
  preferredTimezone: z.string().optional(),
  channels: z.array(Channel),
  optimizationApplyMode: ApplyMode,
  autonomy: Autonomy,
  controls: Controls,
  utmConfig: z.array(UtmParameter),
  frequencyCaps: z.array(RecordedCap),
  labels: Labels,
});

/** Only the members that really changed; null clears a member. */
const AdvertiserUpdated = z.object({
  changes: z.object({
    name: z.string().optional(),
    description: z.string().nullable().optional(),
    primaryCurrency: CurrencyCode.optional(),
    brandDomain: z.string().optional(),
    linkedBrand: LinkedBrand.optional(),
    brandCountries: z.array(CountryCode).optional(),
    preferredTimezone: z.string().nullable().optional(),
    channels: z.array(Channel).optional(),
    optimizationApplyMode: ApplyMode.optional(),
    autonomy: Autonomy.optional(),
    controls: Controls.optional(),
    utmConfig: z.array(UtmParameter).optional(),
    labels: Labels.optional(),
  }),
});

/** The whole new set, in order. A cap whose id was there before is the same cap; ids left out are archived. */
const AdvertiserFrequencyCapsReplaced = CapReplacement;

const nothingMore = z.object({});

/** Schema and current version of every event an advertiser's stream can hold. */
export const advertiserEvents = {
  AdvertiserCreated: { schemaVersion: 1, data: AdvertiserCreated },
  AdvertiserUpdated: { schemaVersion: 1, data: AdvertiserUpdated },
  AdvertiserFrequencyCapsReplaced: { schemaVersion: 1, data: AdvertiserFrequencyCapsReplaced },
  AdvertiserCurrencyLocked: { schemaVersion: 1, data: nothingMore },
  AdvertiserArchived: { schemaVersion: 1, data: nothingMore },
  AdvertiserRestored: { schemaVersion: 1, data: nothingMore },
} as const;

type Schemas = typeof advertiserEvents;
export type AdvertiserEvent = {
  [Type in keyof Schemas]: DomainEvent<Type, z.infer<Schemas[Type]['data']>>;
}[keyof Schemas];
export type AdvertiserCreated = z.infer<typeof AdvertiserCreated>;
export type AdvertiserChanges = z.infer<typeof AdvertiserUpdated>['changes'];
