import { z } from 'zod';
import { createInput, repeatedInput, updateInput } from '../fields.ts';
import { FrequencyCapsInput } from '../frequency-caps/input.ts';
import { boundedText, fitsJson, isHttpUrl } from '../values.ts';
import {
  CarouselCard,
  contentFields,
  creativeFields,
  CreativeRole,
  CreativeSource,
  FormatId,
  Slot,
  UrlAsset,
  WebhookAsset,
} from './resource.ts';
import { ReviewStatus } from './seller-reviews.ts';

/** Limits beyond the specification keep a creative without its reviews below 256 Ki characters. */

const URL_LENGTH_MAX = 2_048;

const WebAddress = boundedText(1, URL_LENGTH_MAX).refine(isHttpUrl, 'must be an http or https URL');
const SecureAddress = boundedText(1, URL_LENGTH_MAX).refine(
  (text) => isHttpUrl(text) && text.toLowerCase().startsWith('https:'),
  'must be an https URL',
);

const key = boundedText(1, 100);
const assetId = boundedText(1, 100);
const text = boundedText(0, 2_000);

const SlotInput = z
  .object({
    ...Slot.shape,
    slotId: key,
    assetId: assetId.optional(),
    value: boundedText(0, 10_000).optional(),
  })
  .check(({ value: input, issues }) => {
    const { kind, assetId: asset, value } = input;
    const unfit = (member: string, message: string): void => {
      issues.push({ code: 'custom', input, path: [member], message, continue: true });
    };
    if (kind !== 'asset' && asset !== undefined) unfit('assetId', 'is allowed only with kind "asset"');
    if (kind === 'asset' && value !== undefined) unfit('value', 'is not allowed with kind "asset"');
    if (kind === 'url' && value !== undefined && !isHttpUrl(value)) {
      unfit('value', 'must be an http or https URL');
    }
  });

const Slots = z
  .array(SlotInput)
  .max(50)
  .refine(
    (slots) => new Set(slots.map(({ slotId }) => slotId)).size === slots.length,
    'must not repeat a slotId',
  )
  .refine(...fitsJson(64 * 1024));

const CopyInput = z
  .record(key, text)
  .refine((copy) => Object.keys(copy).length <= 50, 'must have at most 50 members')
  .refine(...fitsJson(32 * 1024));

const TrackersInput = z
  .record(
    key,
    z
      .union([WebAddress, z.array(WebAddress).max(20)], 'must be an http or https URL, or up to 20 of them')
      .transform((addresses) => (Array.isArray(addresses) ? addresses : [addresses])),
  )
  .refine((trackers) => Object.keys(trackers).length <= 50, 'must have at most 50 members')
  .refine(...fitsJson(32 * 1024))
  .meta({ description: 'One URL, or up to 20, by what they track.' });

const FormatIdInput = z.object({ ...FormatId.shape, agentUrl: WebAddress, id: boundedText(1, 200) });

const UrlAssetInput = z
  .object({ ...UrlAsset.shape, url: WebAddress, urlType: UrlAsset.shape.urlType.default('clickthrough') })
  .refine(({ urlType, vastVersion }) => vastVersion === undefined || urlType === 'vast', {
    path: ['vastVersion'],
    error: 'is allowed only with urlType "vast"',
  });

const WebhookAssetInput = z.object({
  url: SecureAddress,
  method: WebhookAsset.shape.method.default('POST'),
  timeoutMs: WebhookAsset.shape.timeoutMs.default(1_000),
  responseType: WebhookAsset.shape.responseType.default('json'),
  security: z
    .object({ method: WebhookAsset.shape.security.shape.method.default('none') })
    .default({ method: 'none' }),
});

const CardInput = z.object({
  ...CarouselCard.shape,
  assetId: assetId.optional(),
  headline: boundedText(0, 255).optional(),
  description: boundedText(0, 1_000).optional(),
  cta: boundedText(0, 100).optional(),
  landingPageUrl: WebAddress.optional(),
});

const { name, role, advertiserId, frequencyCaps } = creativeFields;

const fields = { name, ...contentFields, role, frequencyCaps };

const inputs = {
  name: boundedText(1, 255),
  formatId: FormatIdInput,
  slots: Slots,
  copy: CopyInput,
  clickUrl: WebAddress,
  trackers: TrackersInput,
  message: boundedText(0, 5_000),
  urlAsset: UrlAssetInput,
  webhookAsset: WebhookAssetInput,
  carouselCards: z.array(CardInput).max(20),
  formatOptionId: boundedText(1, 200),
  frequencyCaps: FrequencyCapsInput,
};

export const CreateCreativeBody = z
  .object({
    ...createInput(fields, inputs),
    name: inputs.name.optional().meta({ description: 'Default: named after its format.' }),
  })
  .meta({ id: 'CreateCreative' });

export const CreateLibraryCreativeBody = z
  .object({ ...CreateCreativeBody.shape, source: CreativeSource.optional() })
  .meta({ id: 'CreateLibraryCreative' });

export const UpdateCreativeBody = z
  .object({
    ...updateInput(fields, inputs),
    role: CreativeRole.nullable().optional().meta({ description: 'null takes it off the shelf.' }),
    frequencyCaps: FrequencyCapsInput.optional(),
    expectedRevision: z.int().min(1).optional().meta({
      description: 'The revision that the change is based on. 409 when it is not the current one.',
    }),
    ...repeatedInput({ id: creativeFields.id, advertiserId }, ['id', 'advertiserId']),
    state: z.string().optional().meta({ description: 'Must be the current value.' }),
  })
  .meta({ id: 'UpdateCreative' });

export const SaveToLibraryBody = z
  .object({
    creativeIds: z
      .array(boundedText(1, 100))
      .min(1)
      .max(50)
      .refine((ids) => new Set(ids).size === ids.length, 'must name each creative once'),
    role: CreativeRole,
  })
  .meta({ id: 'SaveCreativesToLibrary' });

export const AttachCreativeBody = z
  .object({ campaignId: boundedText(1, 255) })
  .meta({ id: 'AttachCreative' });

export const SubmitCreativeBody = z
  .object({
    sellerIds: z
      .array(z.int().min(1).max(2_147_483_647))
      .min(1)
      .max(200)
      .refine((ids) => new Set(ids).size === ids.length, 'must name each seller once'),
  })
  .meta({ id: 'SubmitCreative' });

export const ReviewCreativeBody = z
  .object({
    status: ReviewStatus,
    rejectionReason: boundedText(1, 500).optional().meta({
      description: 'Required with `rejected`, allowed with `suspended`, not allowed otherwise.',
    }),
    expectedRevision: z.int().min(1).optional().meta({
      description:
        'The reviewed revision of the creative. 409 when its content has changed since. Sellers must give it to approve.',
    }),
  })
  .check(({ value: input, issues }) => {
    const { status, rejectionReason } = input;
    const unfit = (message: string): void => {
      issues.push({ code: 'custom', input, path: ['rejectionReason'], message });
    };
    if (status === 'rejected' && rejectionReason === undefined) unfit('is needed with "rejected"');
    if (rejectionReason !== undefined && status !== 'rejected' && status !== 'suspended') {
      unfit('is allowed only with "rejected" and "suspended"');
    }
  })
  .meta({ id: 'ReviewCreative' });

export type ReviewCreativeBody = z.output<typeof ReviewCreativeBody>;
export type CreateCreativeBody = z.output<typeof CreateLibraryCreativeBody>;
export type UpdateCreativeBody = z.output<typeof UpdateCreativeBody>;
