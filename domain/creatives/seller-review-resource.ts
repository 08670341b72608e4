import { z } from 'zod';
import type { Seller } from '../sellers/seller-resource.ts';

/** Review statuses (decisions.md section 4). */
export const ReviewStatus = z.enum([
  'processing',
  'pending_review',
  'approved',
  'rejected',
  'suspended',
  'archived',
]);
export type ReviewStatus = z.infer<typeof ReviewStatus>;

/** A seller's review as the API shows it (specification, Creative detail). */
export const SellerStatus = z
  .strictObject({
    seller: z.strictObject({ sellerId: z.int(), name: z.string(), logoUrl: z.string().optional() }),
    status: ReviewStatus,
    rejectionReason: z.string().optional(),
    syncedAt: z.iso.datetime({ precision: 3 }).optional(),
  })
  .meta({ id: 'SellerStatus' });
export type SellerStatus = z.infer<typeof SellerStatus>;

export interface SellerReview {
  readonly sellerId: number;
  readonly status: ReviewStatus;
  readonly rejectionReason?: string | undefined;
  /** The creative's first revision with the reviewed content. */
  readonly since: number;
  readonly at: string;
}

/** Sorted by seller id, without sellers that the directory does not contain. */
export const sellerStatuses = (
  reviews: readonly SellerReview[],
  sellers: readonly Seller[],
): readonly SellerStatus[] =>
  reviews
    .flatMap(({ sellerId, status, rejectionReason, at }): SellerStatus[] => {
      const seller = sellers.find((one) => one.sellerId === sellerId);
      if (seller === undefined) return [];
      const { name, logoUrl } = seller;
      return [{ seller: { sellerId, name, logoUrl }, status, rejectionReason, syncedAt: at }];
    })
    .sort((a, b) => a.seller.sellerId - b.seller.sellerId);
