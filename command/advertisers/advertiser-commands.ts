import { advertiserFields, type LinkedBrand } from '../../domain/advertisers/advertiser-resource.ts';
import type { CreateAdvertiser, UpdateAdvertiser } from '../../domain/advertisers/advertiser.ts';
import { brandDomainOf } from '../../domain/advertisers/brand.ts';
import { initialMembers } from '../../domain/fields.ts';
import { omitUndefined } from '../../shared/aggregate/omit-undefined.ts';
import { derivedId } from '../../shared/aggregate/ids.ts';
import type { CreateAdvertiserBody, UpdateAdvertiserBody } from './advertiser-input.ts';

/** From what a buyer sent to what the domain decides on: defaults (decisions.md E2), normal forms, ids. */

interface Origin {
  readonly commandId: string;
  readonly now: string;
  /** The brand that the body names, as far as it is known. */
  readonly linkedBrand?: LinkedBrand | undefined;
}

const newCapIds = (commandId: string, caps: readonly unknown[] = []): readonly string[] =>
  caps.map((_, index) => derivedId(commandId, `frequency-cap-${index}`));

/** The domain of the brand that a body names; undefined when it names none. */
export const brandDomainIn = (
  body: Pick<UpdateAdvertiserBody, 'brand' | 'brandDomain'>,
): string | undefined => {
  const brand = body.brand ?? body.brandDomain;
  return brand === undefined ? undefined : brandDomainOf(brand);
};

const brandMembers = (linkedBrand: LinkedBrand | undefined) =>
  linkedBrand === undefined ? {} : { brandDomain: linkedBrand.domain, linkedBrand };

const { frequencyCaps: _caps, ...DEFAULTS } = initialMembers(advertiserFields);

export const createAdvertiser = (
  { brand: _brand, brandDomain: _domain, frequencyCaps = [], ...body }: CreateAdvertiserBody,
  ids: { readonly advertiserId: number; readonly customerId: number },
  { commandId, now, linkedBrand }: Origin,
): CreateAdvertiser => ({
  type: 'CreateAdvertiser',
  now,
  ...ids,
  details: {
    ...DEFAULTS,
    ...omitUndefined(body),
    ...brandMembers(linkedBrand),
    autonomy: {
      inventorySelection: body.autonomy?.inventorySelection ?? DEFAULTS.autonomy.inventorySelection,
      rebriefing: body.autonomy?.rebriefing ?? DEFAULTS.autonomy.rebriefing,
    },
    controls: omitUndefined(body.controls ?? DEFAULTS.controls),
  },
  frequencyCaps,
  newCapIds: newCapIds(commandId, frequencyCaps),
});

export const updateAdvertiser = (
  body: UpdateAdvertiserBody,
  { commandId, now, linkedBrand }: Origin,
): UpdateAdvertiser => {
  const {
    id,
    customerId,
    status,
    sandbox,
    brand: _brand,
    brandDomain: _domain,
    frequencyCaps,
    autonomy,
    controls,
    ...rest
  } = body;
  return {
    type: 'UpdateAdvertiser',
    now,
    changes: omitUndefined({
      ...rest,
      ...brandMembers(linkedBrand),
      autonomy: autonomy && omitUndefined(autonomy),
      controls: controls && omitUndefined(controls),
    }),
    frequencyCaps,
    newCapIds: newCapIds(commandId, frequencyCaps),
    unchangeable: omitUndefined({ id, customerId, status, sandbox }),
  };
};
