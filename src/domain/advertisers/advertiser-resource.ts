import { z } from 'zod';
import { FrequencyCap } from '../frequency-caps/frequency-cap-resource.ts';

/**
 * The Advertiser as the API shows it (specification, Advertiser and FrequencyCap). It is also the
 * aggregate's state and, as JSON text, its row in the read model: one shape, three uses.
 * Optional members are absent when unset, never null (decisions.md section 6).
 */

const channels = [
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
] as const;

export const Channel = z.enum(channels);
const Timestamp = z.iso.datetime({ precision: 3 });
export const CurrencyCode = z.string().regex(/^[A-Z]{3}$/, 'must be three uppercase letters, e.g. "USD"');
export const CountryCode = z.string().regex(/^[A-Z]{2}$/, 'must be two uppercase letters, e.g. "DE"');
export const ApplyMode = z.enum(['AUTO', 'MANUAL']);
const AdvertiserStatus = z.enum(['ACTIVE', 'ARCHIVED']);

export const LinkedBrand = z.strictObject({
  domain: z.string(),
  name: z.string(),
  logoUrl: z.string().optional(),
  industry: z.string().optional(),
  tagline: z.string().optional(),
  colors: z.array(z.string()).optional(),
});

export const Autonomy = z.strictObject({ inventorySelection: z.string(), rebriefing: z.string() });

export const Controls = z.strictObject({
  exclusions: z.array(z.string()),
  brandSafety: z.string().optional(),
  exclusionsListName: z.string().optional(),
});

export const UtmParameter = z.strictObject({ paramKey: z.string(), paramValue: z.string() });

export const Labels = z.record(z.string(), z.array(z.string()));

export const AdvertiserResource = z
  .strictObject({
    id: z.int().min(1).max(2_147_483_647),
    customerId: z.int(),
    name: z.string(),
    description: z.string().optional(),
    status: AdvertiserStatus,
    sandbox: z.boolean(),
    primaryCurrency: CurrencyCode,
    currencyLocked: z.boolean(),
    brandDomain: z.string().optional(),
    linkedBrand: LinkedBrand.optional(),
    brandCountries: z.array(CountryCode),
    preferredTimezone: z.string().optional(),
    channels: z.array(Channel),
    optimizationApplyMode: ApplyMode,
    autonomy: Autonomy,
    controls: Controls,
    utmConfig: z.array(UtmParameter),
    frequencyCaps: z.array(FrequencyCap),
    labels: Labels,
    createdAt: Timestamp,
    updatedAt: Timestamp,
  })
  .meta({ id: 'Advertiser' });

export type AdvertiserResource = z.infer<typeof AdvertiserResource>;
