import { z } from 'zod';
import { FrequencyCap } from '../frequency-caps/resource.ts';
import { shownIds } from '../shown-id.ts';
import type { SellerReview } from './seller-review-resource.ts';
import { FormatKind, formatLabelOf } from './format-kinds-resource.ts';
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

/** The content that a buyer sends; a duplicate copies it. */
const content = {
  formatKind: FormatKind,
  formatId: FormatId.optional(),
  slots: z.array(Slot),
  copy: Copy,
  clickUrl: z.string().optional(),
  trackers: Trackers,
  message: z.string().optional(),
  urlAsset: UrlAsset.optional(),
  webhookAsset: WebhookAsset.optional(),
  carouselCards: z.array(CarouselCard),
  formatOptionId: z.string().optional(),
};

export const CreativeContent = z.object(content);
export type CreativeContent = z.infer<typeof CreativeContent>;

const { formatOptionId: _option, ...shownContent } = content;

/** A creative in campaigns and in the library (specification, Campaign creative). */
export const CreativeResource = z
  .strictObject({
    id: z.string(),
    advertiserId: z.int().min(1).max(2_147_483_647),
    name: z.string(),
    state: CreativeState,
    ...shownContent,
    formatLabel: z.string(),
    role: CreativeRole.optional(),
    promoted: z.boolean(),
    revision: z.int().min(1),
    createdAt: Timestamp,
    updatedAt: Timestamp,
    frequencyCaps: z.array(FrequencyCap),
  })
  .meta({ id: 'CampaignCreative' });
export type CreativeResource = z.infer<typeof CreativeResource>;

/** A creative folded from its events. Ids are UUIDs. */
export interface Creative extends CreativeContent {
  readonly creativeId: string;
  readonly customerId: number;
  readonly advertiserId: number;
  readonly name: string;
  readonly state: z.infer<typeof CreativeState>;
  readonly role?: z.infer<typeof CreativeRole> | undefined;
  /** Marked for reuse in the library. */
  readonly promoted: boolean;
  readonly source: z.infer<typeof CreativeSource>;
  readonly madeIn?: { readonly sessionId: string; readonly variantId: string } | undefined;
  /** In the order of attachment. */
  readonly campaignIds: readonly string[];
  readonly frequencyCaps: FrequencyCap[];
  /** One for each seller that it was submitted to; absent before the first submission. */
  readonly reviews?: readonly SellerReview[] | undefined;
  readonly revision: number;
  readonly createdAt: string;
  readonly updatedAt: string;
}

const ids = shownIds('cre_');
export const shownCreativeId = ids.shown;
export const creativeIdOf = ids.idOf;

export const creativeResource = (creative: Creative): CreativeResource => ({
  id: shownCreativeId(creative.creativeId),
  advertiserId: creative.advertiserId,
  name: creative.name,
  state: creative.state,
  formatKind: creative.formatKind,
  formatId: creative.formatId,
  formatLabel: formatLabelOf(creative.formatKind),
  slots: creative.slots,
  copy: creative.copy,
  clickUrl: creative.clickUrl,
  trackers: creative.trackers,
  message: creative.message,
  urlAsset: creative.urlAsset,
  webhookAsset: creative.webhookAsset,
  carouselCards: creative.carouselCards,
  role: creative.role,
  promoted: creative.promoted,
  revision: creative.revision,
  createdAt: creative.createdAt,
  updatedAt: creative.updatedAt,
  frequencyCaps: creative.frequencyCaps,
});

/** The shown ids of a creative's assets, without repetition. */
export const assetIdsOf = ({ slots, carouselCards }: Pick<Creative, 'slots' | 'carouselCards'>): string[] => [
  ...new Set([...slots, ...carouselCards].flatMap(({ assetId }) => (assetId === undefined ? [] : [assetId]))),
];
