import { z } from 'zod';
import { advertiserFields, Channel, CountryCode } from './resource.ts';
import { brandDomainOf } from '../brands/brand.ts';
import { createInput, repeatedInput, updateInput } from '../fields.ts';
import { FrequencyCapsInput } from '../frequency-caps/input.ts';
import { boundedText, distinct, fitsJson, listOf } from '../values.ts';

/** Specification, endpoints 2 and 3. Limits that neither gives keep an advertiser's events small. */

/** Fixed offsets are not time zone names. */
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

/** A URL can carry only one value per parameter. Equal repeats count once. */
const UtmConfigInput = z
  .array(UtmParameterInput)
  .max(20)
  .check(({ value: parameters, issues }) => {
    const values = new Map<string, string>();
    parameters.forEach(({ paramKey, paramValue }, at) => {
      const known = values.get(paramKey) ?? paramValue;
      values.set(paramKey, known);
      if (known === paramValue) return;
      const message = 'must not come twice with different values';
      issues.push({ code: 'custom', input: parameters, path: [at, 'paramKey'], message, continue: true });
    });
  })
  .overwrite(distinct);

/** Keep an advertiser below 256 Ki characters: a page of 50 is sent in time, and answers can be stored. */
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

const inputs = {
  name: boundedText(1, 200),
  description: boundedText(0, 2_000),
  brandCountries: listOf(CountryCode, 300),
  preferredTimezone: Timezone,
  channels: listOf(Channel, 200),
  autonomy: AutonomyInput,
  controls: ControlsInput,
  utmConfig: UtmConfigInput,
  frequencyCaps: FrequencyCapsInput,
  labels: LabelsInput,
};

const brandInput = {
  brand: Brand.optional(),
  brandDomain: Brand.optional().meta({ description: 'Alias of `brand`.' }),
};

interface NamedBrand {
  readonly brand?: string | undefined;
  readonly brandDomain?: string | undefined;
}

export const brandDomainIn = ({ brand, brandDomain }: NamedBrand): string | undefined =>
  brandDomainOf(brand ?? brandDomain ?? '');

const namesOneBrand = ({ brand, brandDomain }: NamedBrand): boolean =>
  brandDomainIn({ brand, brandDomain }) === brandDomainIn({ brand: brandDomain, brandDomain: brand });
const differentBrands = {
  path: ['brandDomain'],
  error: 'must name the same domain as `brand`, or be left out',
};

export const CreateAdvertiserBody = z
  .object({ ...createInput(advertiserFields, inputs), ...brandInput })
  .refine(namesOneBrand, differentBrands)
  .meta({ id: 'CreateAdvertiser' });

const repeated = repeatedInput(advertiserFields, ['id', 'customerId', 'status', 'sandbox']);

export const UpdateAdvertiserBody = z
  .object({
    ...updateInput(advertiserFields, inputs),
    ...brandInput,
    frequencyCaps: FrequencyCapsInput.optional(),
    ...repeated,
  })
  .refine(namesOneBrand, differentBrands)
  .meta({ id: 'UpdateAdvertiser' });

export type CreateAdvertiserBody = z.output<typeof CreateAdvertiserBody>;
export type UpdateAdvertiserBody = z.output<typeof UpdateAdvertiserBody>;
