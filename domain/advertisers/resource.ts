import { z } from 'zod';
import { LinkedBrand } from '../brands/brand.ts';
import { changeable, clearable, derived, fixed, found, resourceShape } from '../fields.ts';
import { FrequencyCap, RecordedCap } from '../frequency-caps/resource.ts';
import { Timestamp } from '../values.ts';

/** API resource, aggregate state and row in the read model. Unset members are absent, never null. */

export const Channel = z.enum([
  'display',
  'olv',
  'social',
  'search',
  'ctv',
  'linear_tv',
  'radio',
  'streaming_audio',
  'podcast',
  'dooh',
  'ooh',
  'print',
  'cinema',
  'email',
  'gaming',
  'retail_media',
  'influencer',
  'affiliate',
  'product_placement',
  'sponsored_intelligence',
]);
export const CurrencyCode = z.string().regex(/^[A-Z]{3}$/, 'must be three uppercase letters, e.g. "USD"');
export const CountryCode = z.string().regex(/^[A-Z]{2}$/, 'must be two uppercase letters, e.g. "DE"');

const Autonomy = z.strictObject({ inventorySelection: z.string(), rebriefing: z.string() });

const Controls = z.strictObject({
  exclusions: z.array(z.string()),
  brandSafety: z.string().optional(),
  exclusionsListName: z.string().optional(),
});

const UtmParameter = z.strictObject({ paramKey: z.string(), paramValue: z.string() });

export const advertiserFields = {
  id: derived(z.int().min(1).max(2_147_483_647)),
  customerId: derived(z.int()),
  name: changeable(z.string()),
  description: clearable(z.string()),
  status: derived(z.enum(['ACTIVE', 'ARCHIVED'])),
  sandbox: fixed(z.boolean(), { initial: false }),
  primaryCurrency: changeable(CurrencyCode, 'USD'),
  currencyLocked: derived(z.boolean()),
  brandDomain: found(z.string()),
  linkedBrand: found(LinkedBrand),
  brandCountries: changeable(z.array(CountryCode), []),
  preferredTimezone: clearable(z.string()),
  channels: changeable(z.array(Channel), []),
  optimizationApplyMode: changeable(z.enum(['AUTO', 'MANUAL']), 'MANUAL'),
  autonomy: changeable(Autonomy, { inventorySelection: 'manual', rebriefing: 'manual' }),
  controls: changeable(Controls, { exclusions: [] }),
  utmConfig: changeable(z.array(UtmParameter), []),
  // A separate event replaces them.
  frequencyCaps: fixed(z.array(FrequencyCap), { recorded: z.array(RecordedCap), initial: [] }),
  labels: changeable(z.record(z.string(), z.array(z.string())), {}),
  createdAt: derived(Timestamp),
  updatedAt: derived(Timestamp),
};

export const AdvertiserResource = z.strictObject(resourceShape(advertiserFields)).meta({ id: 'Advertiser' });
export type AdvertiserResource = z.infer<typeof AdvertiserResource>;
