import { z } from 'zod';
import type { Seller } from '../sellers/resource.ts';
import { campaignResource, CampaignPhase, type Campaign } from '../campaigns/resource.ts';
import {
  creativeResource,
  CreativeResource,
  CarouselCard,
  CreativeSource,
  type Creative,
} from './resource.ts';
import { SellerStatus, sellerStatuses } from './seller-reviews.ts';

export interface UsedAsset {
  readonly id: string;
  readonly name: string;
  readonly mediaKind: string;
  readonly mimeType: string;
  readonly url: string;
  readonly bytes: number;
  readonly width?: number | undefined;
  readonly height?: number | undefined;
}

const PreviewKind = z.enum(['image', 'video', 'audio', 'html', 'link']);
const {
  id: _id,
  formatId: _formatId,
  slots: _slots,
  copy: _copy,
  trackers: _trackers,
  ...same
} = CreativeResource.shape;

/** Specification, Creative detail. */
export const CreativeDetail = z
  .strictObject({
    creativeId: z.string(),
    ...same,
    source: CreativeSource,
    specLine: z.string(),
    preview: z
      .strictObject({
        kind: PreviewKind,
        url: z.string(),
        width: z.int().optional(),
        height: z.int().optional(),
        copy: z.array(z.strictObject({ slot: z.string(), value: z.string() })),
      })
      .optional(),
    assets: z.array(
      z.strictObject({
        assetId: z.string(),
        slot: z.string(),
        name: z.string(),
        mediaKind: z.string(),
        thumbnailUrl: z.string().optional(),
        specLine: z.string().optional(),
      }),
    ),
    campaigns: z.array(z.strictObject({ campaignId: z.string(), name: z.string(), phase: CampaignPhase })),
    sellerStatuses: z.array(SellerStatus),
    formatOptionId: z.string().optional(),
    carouselCards: z.array(
      CarouselCard.extend({ imageUrl: z.string().optional(), imageName: z.string().optional() }),
    ),
  })
  .meta({ id: 'CreativeDetail' });
export type CreativeDetail = z.infer<typeof CreativeDetail>;

export interface DetailParts {
  readonly creative: Creative;
  /** Only those that the read model contains. */
  readonly campaigns: readonly Campaign[];
  readonly assets: readonly UsedAsset[];
  /** Includes at least all sellers that the creative was submitted to. */
  readonly sellers: readonly Seller[];
}

/** Depends only on the current state of each part, not on the order in which they arrived. */
export const creativeDetail = ({ creative, campaigns, assets, sellers }: DetailParts): CreativeDetail => {
  const { id, formatId, slots, copy, trackers: _, carouselCards, ...shown } = creativeResource(creative);
  const assetOf = (assetId: string | undefined): UsedAsset | undefined =>
    assets.find((asset) => asset.id === assetId);
  const used = slots.flatMap(({ kind, slotId, assetId }) => {
    const asset = kind === 'asset' ? assetOf(assetId) : undefined;
    return asset === undefined ? [] : [{ slot: slotId, asset }];
  });
  const first = used[0]?.asset ?? assetOf(carouselCards[0]?.assetId);
  const known = new Map(campaigns.map((campaign) => [campaign.campaignId, campaignResource(campaign)]));
  return {
    creativeId: id,
    ...shown,
    source: creative.source,
    formatOptionId: creative.formatOptionId,
    specLine: first === undefined ? specOfFormat(formatId, shown.formatLabel) : specLineOf(first),
    preview: first && {
      kind: previewKindOf(first),
      url: first.url,
      width: first.width,
      height: first.height,
      copy: Object.entries(copy).map(([slot, value]) => ({ slot, value })),
    },
    assets: used.map(({ slot, asset }) => ({
      assetId: asset.id,
      slot,
      name: asset.name,
      mediaKind: asset.mediaKind,
      thumbnailUrl: asset.mediaKind === 'image' ? asset.url : undefined,
      specLine: specLineOf(asset),
    })),
    campaigns: creative.campaignIds.flatMap((campaignId) => {
      const campaign = known.get(campaignId);
      return campaign === undefined
        ? []
        : [{ campaignId: campaign.id, name: campaign.name, phase: campaign.phase }];
    }),
    sellerStatuses: [...sellerStatuses(creative.reviews ?? [], sellers)],
    carouselCards: carouselCards.map((card) => {
      const image = assetOf(card.assetId);
      return { ...card, imageUrl: image?.url, imageName: image?.name };
    }),
  };
};

const previewKindOf = ({ mediaKind }: UsedAsset): z.infer<typeof PreviewKind> => {
  const { data } = PreviewKind.safeParse(mediaKind);
  return data ?? 'link';
};

const specOfFormat = (formatId: Creative['formatId'], label: string): string =>
  formatId?.width === undefined || formatId.height === undefined
    ? label
    : `${formatId.width}x${formatId.height}`;

const specLineOf = ({ width, height, mimeType, bytes }: UsedAsset): string =>
  [
    ...(width === undefined || height === undefined ? [] : [`${width}x${height}`]),
    typeOf(mimeType),
    sizeOf(bytes),
  ].join(' - ');

const typeOf = (mimeType: string): string =>
  (mimeType.split('/').at(-1) ?? mimeType).replace(/[+;].*$/, '').toUpperCase();

const sizeOf = (bytes: number): string => {
  if (bytes < 1_024) return `${bytes} B`;
  if (bytes < 1_024 * 1_024) return `${Math.round(bytes / 1_024)} KB`;
  return `${(bytes / 1_024 / 1_024).toFixed(1)} MB`;
};
