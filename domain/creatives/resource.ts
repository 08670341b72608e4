import { z } from 'zod';
import { changeable, clearable, createdShape, derived, fixed, membersOf, resourceShape } from '../fields.ts';
import { FrequencyCap, RecordedCap } from '../frequency-caps/resource.ts';
import { shownIds } from '../shown-id.ts';
import type { SellerReview } from './seller-reviews.ts';
import { FormatKind, formatLabelOf } from './format-kinds.ts';
import { Timestamp } from '../values.ts';

const pixels = z.int().min(1).max(2_147_483_647);

const CreativeState = z.enum(['draft', 'ready', 'archived']);
export const CreativeRole = z.enum(['evergreen', 'reference']);
export const CreativeSource = z.enum(['uploaded', 'generated', 'connected']);

export const FormatId = z.strictObject({
  agentUrl: z.string(),
  id: z.string(),
  width: pixels.optional(),
  height: pixels.optional(),
  durationMs: z.int().min(0).max(2_147_483_647).optional(),
});

export const Slot = z.strictObject({
  slotId: z.string(),
  kind: z.enum(['asset', 'text', 'url']),
  assetId: z.string().optional(),
  value: z.string().optional(),
  crop: z.boolean().optional(),
});

const Copy = z.record(z.string(), z.string());

const Trackers = z.record(z.string(), z.array(z.string()));

export const UrlAsset = z.strictObject({
  url: z.string(),
  urlType: z.enum(['clickthrough', 'tracker_pixel', 'tracker_script', 'vast']),
  vastVersion: z.enum(['2.0', '3.0', '4.0', '4.1', '4.2', '4.3']).optional(),
});

export const WebhookAsset = z.strictObject({
  url: z.string(),
  method: z.enum(['GET', 'POST']),
  timeoutMs: z.int().min(10).max(5_000),
  responseType: z.enum(['html', 'json', 'xml', 'javascript']),
  security: z.strictObject({ method: z.enum(['hmac_sha256', 'api_key', 'none']) }),
});

export const CarouselCard = z.strictObject({
  assetId: z.string().optional(),
  headline: z.string().optional(),
  description: z.string().optional(),
  cta: z.string().optional(),
  landingPageUrl: z.string().optional(),
});

const shownContent = {
  formatKind: changeable(FormatKind),
  formatId: clearable(FormatId),
  slots: changeable(z.array(Slot), []),
  copy: changeable(Copy, {}),
  clickUrl: clearable(z.string()),
  trackers: changeable(Trackers, {}),
  message: clearable(z.string()),
  urlAsset: clearable(UrlAsset),
  webhookAsset: clearable(WebhookAsset),
  carouselCards: changeable(z.array(CarouselCard), []),
};

/** A duplicate copies these. */
export const contentFields = { ...shownContent, formatOptionId: clearable(z.string()) };

export const CreativeContent = z.object(createdShape(contentFields));
export type CreativeContent = z.infer<typeof CreativeContent>;

/** Specification, Campaign creative. */
export const creativeFields = {
  id: derived(z.string()),
  advertiserId: fixed(z.int().min(1).max(2_147_483_647), { recorded: z.int() }),
  name: changeable(z.string()),
  state: derived(CreativeState),
  ...shownContent,
  formatLabel: derived(z.string()),
  role: clearable(CreativeRole),
  promoted: derived(z.boolean()),
  revision: derived(z.int().min(1)),
  createdAt: derived(Timestamp),
  updatedAt: derived(Timestamp),
  frequencyCaps: fixed(z.array(FrequencyCap), { recorded: z.array(RecordedCap), initial: [] }),
};

export const CreativeResource = z
  .strictObject(resourceShape(creativeFields))
  .meta({ id: 'CampaignCreative' });
export type CreativeResource = z.infer<typeof CreativeResource>;

/** Ids are UUIDs. */
export interface Creative extends Omit<CreativeResource, 'id' | 'formatLabel'>, CreativeContent {
  readonly creativeId: string;
  readonly customerId: number;
  readonly source: z.infer<typeof CreativeSource>;
  readonly madeIn?: { readonly sessionId: string; readonly variantId: string } | undefined;
  /** In the order of attachment. */
  readonly campaignIds: readonly string[];
  /** One for each submission's seller; absent before the first submission. */
  readonly reviews?: readonly SellerReview[] | undefined;
}

const ids = shownIds('cre_');
export const shownCreativeId = ids.shown;
export const creativeIdOf = ids.idOf;

export const creativeResource = (creative: Creative): CreativeResource =>
  membersOf(CreativeResource, {
    ...creative,
    id: shownCreativeId(creative.creativeId),
    formatLabel: formatLabelOf(creative.formatKind),
  });

export const assetIdsOf = ({ slots, carouselCards }: Pick<Creative, 'slots' | 'carouselCards'>): string[] => [
  ...new Set([...slots, ...carouselCards].flatMap(({ assetId }) => (assetId === undefined ? [] : [assetId]))),
];
