import type {
  AdvertiserCommand,
  CreateAdvertiser,
  UpdateAdvertiser,
} from '../../domain/advertisers/advertiser.ts';
import { brandDomainOf } from '../../domain/advertisers/brand.ts';
import { defined } from '../../shared/defined.ts';
import { derivedId } from '../../shared/ids.ts';
import type { CreateAdvertiserBody, UpdateAdvertiserBody } from './advertiser-input.ts';

/** From what a buyer sent to what the domain decides on: defaults (decisions.md E2), normal forms, ids. */

type Origin = { readonly commandId: string; readonly now: string };

const newCapIds = (commandId: string, caps: readonly unknown[] = []): readonly string[] =>
  caps.map((_, index) => derivedId(commandId, `frequency-cap-${index}`));

const brandMembers = (brand: string | undefined) => {
  const domain = brand === undefined ? undefined : brandDomainOf(brand);
  return domain === undefined ? {} : { brandDomain: domain, linkedBrand: { domain, name: domain } };
};

export const createAdvertiser = (
  body: CreateAdvertiserBody,
  ids: { readonly advertiserId: number; readonly customerId: number },
  { commandId, now }: Origin,
): CreateAdvertiser => ({
  type: 'CreateAdvertiser',
  now,
  ...ids,
  details: defined({
    name: body.name,
    description: body.description,
    sandbox: body.sandbox ?? false,
    primaryCurrency: body.primaryCurrency ?? 'USD',
    ...brandMembers(body.brand ?? body.brandDomain),
    brandCountries: body.brandCountries ?? [],
    preferredTimezone: body.preferredTimezone,
    channels: body.channels ?? [],
    optimizationApplyMode: body.optimizationApplyMode ?? 'MANUAL',
    autonomy: {
      inventorySelection: body.autonomy?.inventorySelection ?? 'manual',
      rebriefing: body.autonomy?.rebriefing ?? 'manual',
    },
    controls: defined(body.controls ?? { exclusions: [] }),
    utmConfig: body.utmConfig ?? [],
    labels: body.labels ?? {},
  }),
  frequencyCaps: body.frequencyCaps ?? [],
  newCapIds: newCapIds(commandId, body.frequencyCaps),
});

export const updateAdvertiser = (
  body: UpdateAdvertiserBody,
  { commandId, now }: Origin,
): UpdateAdvertiser => {
  const { id, customerId, status, sandbox, brand, brandDomain, frequencyCaps, autonomy, controls, ...rest } =
    body;
  return {
    type: 'UpdateAdvertiser',
    now,
    changes: defined({
      ...rest,
      ...brandMembers(brand ?? brandDomain),
      autonomy: autonomy && defined(autonomy),
      controls: controls && defined(controls),
    }),
    frequencyCaps,
    newCapIds: newCapIds(commandId, frequencyCaps),
    unchangeable: defined({ id, customerId, status, sandbox }) as UpdateAdvertiser['unchangeable'],
  };
};

export const archiveAdvertiser = ({ now }: Origin): AdvertiserCommand => ({ type: 'ArchiveAdvertiser', now });
export const restoreAdvertiser = ({ now }: Origin): AdvertiserCommand => ({ type: 'RestoreAdvertiser', now });
