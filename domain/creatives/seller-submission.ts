import { z } from 'zod';
import { AssetResource } from '../assets/resource.ts';
import { membersOf } from '../fields.ts';
import { creativeResource, CreativeResource, type Creative } from './resource.ts';
import { ReviewStatus } from './seller-reviews.ts';

const { state, formatKind, formatId, formatLabel, slots, copy, clickUrl } = CreativeResource.shape;
const { trackers, message, urlAsset, webhookAsset, carouselCards, revision } = CreativeResource.shape;
const {
  name: _name,
  advertiserId: _advertiser,
  storageKey: _key,
  source: _source,
  ...shownAsset
} = AssetResource.shape;

const SubmittedAsset = z.strictObject(shownAsset);
export type SubmittedAsset = z.infer<typeof SubmittedAsset>;

/** What the seller sees: content and its own review, without the buyer's names and storage keys. */
export const SellerSubmission = z
  .strictObject({
    creativeId: z.string(),
    sellerId: z.int(),
    status: ReviewStatus,
    rejectionReason: z.string().optional(),
    syncedAt: z.iso.datetime({ precision: 3 }),
    revision: revision.meta({
      description: 'To be given as expectedRevision with a review of this content.',
    }),
    state,
    formatKind,
    formatId,
    formatLabel,
    slots,
    copy,
    clickUrl,
    trackers,
    message,
    urlAsset,
    webhookAsset,
    carouselCards,
    assets: z.array(SubmittedAsset).meta({ description: 'Those of its assets that are in the library.' }),
  })
  .meta({ id: 'SellerSubmission' });
export type SellerSubmission = z.infer<typeof SellerSubmission>;

/** @returns undefined if the creative was not submitted to the seller */
export const sellerSubmission = (
  creative: Creative,
  sellerId: number,
  assets: readonly AssetResource[],
): SellerSubmission | undefined => {
  const review = creative.reviews?.find((one) => one.sellerId === sellerId);
  if (review === undefined) return undefined;
  const shown = creativeResource(creative);
  return membersOf(SellerSubmission, {
    ...shown,
    creativeId: shown.id,
    sellerId,
    status: review.status,
    rejectionReason: review.rejectionReason,
    syncedAt: review.at,
    assets: assets.map((asset) => membersOf(SubmittedAsset, asset)),
  });
};
