import { z } from 'zod';
import {
  ApplyMode,
  Channel,
  CountryCode,
  CurrencyCode,
} from '../../domain/advertisers/advertiser-resource.ts';
import { brandDomainOf } from '../../domain/advertisers/brand.ts';
import { boundedText, fitsJson, listOf } from '../../shared/http/schemas.ts';
import { FrequencyCapsInput } from './frequency-caps-input.ts';

/**
 * What a buyer may send for an advertiser (specification, endpoints 2 and 3; decisions.md E2, E3). Unknown
 * members are ignored. Bounds that neither page gives are ours: they keep one advertiser's events small.
 */

/** IANA names as this runtime's time-zone data knows them; fixed offsets are not names. */
const isTimezone = (name: string): boolean => {
  if (!/^[A-Za-z]/.test(name)) return false;
  try {
    return new Intl.DateTimeFormat('en', { timeZone: name }).resolvedOptions().timeZone !== '';
  } catch {
    return false;
  }
};

const Timezone = boundedText(1, 64).refine(
  isTimezone,
  'must be an IANA time zone name, e.g. "Europe/Berlin"',
);

const Brand = z
  .string()
  .refine((brand) => brandDomainOf(brand) !== undefined, 'must be a domain or http(s) URL, e.g. "acme.com"')
  .meta({ description: 'Domain or URL of the brand; links the brand.' });

const UtmParameterInput = z.object({
  paramKey: z.string().regex(/^[a-zA-Z0-9_-]{1,100}$/, 'must be 1 to 100 letters, digits, "_" or "-"'),
  paramValue: boundedText(1, 200),
});

/**
 * Of the two members that may hold much. With them an advertiser stays below 256 Ki characters whatever is in
 * it, so that a page of 50 is sent in time and every answer is short enough to be kept with its key.
 */
const LABELS_JSON_MAX = 32 * 1024;
const EXCLUSIONS_JSON_MAX = 128 * 1024;

const LabelsInput = z
  .record(boundedText(1, 100), listOf(boundedText(1, 200), 100))
  .refine((labels) => Object.keys(labels).length <= 50, 'must have at most 50 dimensions')
  .refine(...fitsJson(LABELS_JSON_MAX));

const ControlsInput = z.object({
  exclusions: listOf(boundedText(1, 500), 1_000)
    .refine(...fitsJson(EXCLUSIONS_JSON_MAX))
    .default([]),
  brandSafety: boundedText(1, 100).optional(),
  exclusionsListName: boundedText(1, 200).optional(),
});

const AutonomyInput = z.object({
  inventorySelection: boundedText(1, 50).optional(),
  rebriefing: boundedText(1, 50).optional(),
});

const optionalMembers = {
  brand: Brand.optional(),
  brandDomain: Brand.optional().meta({ description: 'Alias of `brand`.' }),
  primaryCurrency: CurrencyCode.optional(),
  brandCountries: listOf(CountryCode, 300).optional(),
  channels: listOf(Channel, 200).optional(),
  optimizationApplyMode: ApplyMode.optional(),
  autonomy: AutonomyInput.optional(),
  controls: ControlsInput.optional(),
  utmConfig: listOf(UtmParameterInput, 20).optional(),
  frequencyCaps: FrequencyCapsInput.optional(),
  labels: LabelsInput.optional(),
};

const sameBrand = ({
  brand,
  brandDomain,
}: {
  brand?: string | undefined;
  brandDomain?: string | undefined;
}): boolean =>
  brand === undefined || brandDomain === undefined || brandDomainOf(brand) === brandDomainOf(brandDomain);
const differentBrands = {
  path: ['brandDomain'],
  error: 'must name the same domain as `brand`, or be left out',
};

export const CreateAdvertiserBody = z
  .object({
    name: boundedText(1, 200),
    description: boundedText(0, 2_000).optional(),
    preferredTimezone: Timezone.optional(),
    sandbox: z.boolean().optional(),
    ...optionalMembers,
  })
  .refine(sameBrand, differentBrands)
  .meta({ id: 'CreateAdvertiser' });

export const UpdateAdvertiserBody = z
  .object({
    name: boundedText(1, 200).optional(),
    description: boundedText(0, 2_000).nullable().optional().meta({ description: 'null clears it.' }),
    preferredTimezone: Timezone.nullable().optional().meta({ description: 'null clears it.' }),
    ...optionalMembers,
    id: z.int().optional().meta({ description: 'Must be the current value.' }),
    customerId: z.int().optional().meta({ description: 'Must be the current value.' }),
    status: z.enum(['ACTIVE', 'ARCHIVED']).optional().meta({ description: 'Must be the current value.' }),
    sandbox: z.boolean().optional().meta({ description: 'Must be the current value.' }),
  })
  .refine(sameBrand, differentBrands)
  .meta({ id: 'UpdateAdvertiser' });

export type CreateAdvertiserBody = z.output<typeof CreateAdvertiserBody>;
export type UpdateAdvertiserBody = z.output<typeof UpdateAdvertiserBody>;
