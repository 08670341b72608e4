import type { CreateAdvertiser, UpdateAdvertiser } from '../../domain/advertisers/advertiser.ts';
import type { CreateAdvertiserBody, UpdateAdvertiserBody } from '../../domain/advertisers/input.ts';
import { advertiserFields } from '../../domain/advertisers/resource.ts';
import type { LinkedBrand } from '../../domain/brands/brand.ts';
import { initialMembers } from '../../domain/fields.ts';
import { omitUndefined } from '../../shared/aggregate/omit-undefined.ts';
import { derivedId } from '../../shared/aggregate/ids.ts';

interface Origin {
  readonly commandId: string;
  readonly now: string;
  readonly linkedBrand?: LinkedBrand | undefined;
}

const newCapIds = (commandId: string, caps: readonly unknown[] = []): readonly string[] =>
  caps.map((_, index) => derivedId(commandId, `frequency-cap-${index}`));

const brandMembers = (linkedBrand: LinkedBrand | undefined) =>
  linkedBrand && { brandDomain: linkedBrand.domain, linkedBrand };

const { frequencyCaps: noCaps, ...defaults } = initialMembers(advertiserFields);

export const createAdvertiser = (
  {
    brand: _brand,
    brandDomain: _domain,
    autonomy = {},
    frequencyCaps = noCaps,
    ...body
  }: CreateAdvertiserBody,
  ids: { readonly advertiserId: number; readonly customerId: number },
  { commandId, now, linkedBrand }: Origin,
): CreateAdvertiser => ({
  type: 'CreateAdvertiser',
  now,
  ...ids,
  details: {
    ...defaults,
    ...omitUndefined(body),
    ...brandMembers(linkedBrand),
    autonomy: { ...defaults.autonomy, ...omitUndefined(autonomy) },
  },
  frequencyCaps,
  newCapIds: newCapIds(commandId, frequencyCaps),
});

export const updateAdvertiser = (
  { brand: _brand, brandDomain: _domain, autonomy, frequencyCaps, ...body }: UpdateAdvertiserBody,
  { commandId, now, linkedBrand }: Origin,
): UpdateAdvertiser => {
  const { id, customerId, status, sandbox, ...changes } = body;
  return {
    type: 'UpdateAdvertiser',
    now,
    changes: { ...changes, ...brandMembers(linkedBrand), autonomy: autonomy && omitUndefined(autonomy) },
    frequencyCaps,
    newCapIds: newCapIds(commandId, frequencyCaps),
    unchangeable: { id, customerId, status, sandbox },
  };
};
