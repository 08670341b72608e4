import { z } from 'zod';
import type { Seller } from '../sellers/resource.ts';

export const ReviewStatus = z.enum([
  'processing',
  'pending_review',
  'approved',
  'rejected',
  'suspended',
  'archived',
]);
export type ReviewStatus = z.infer<typeof ReviewStatus>;

/** Specification, Creative detail. */
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

type Reviews = readonly SellerReview[];

/** No seller sets `processing`: a submission and new content lead to it. */
export const reviewSteps: Readonly<Record<ReviewStatus, readonly ReviewStatus[]>> = {
  processing: ['pending_review', 'approved', 'rejected', 'archived'],
  pending_review: ['approved', 'rejected', 'archived'],
  approved: ['rejected', 'suspended', 'archived'],
  rejected: ['pending_review', 'approved', 'archived'],
  suspended: ['approved', 'rejected', 'archived'],
  archived: [],
};

/** Leaves out sellers that are reviewing the creative, or have approved or suspended it. */
export const submittable = (
  reviews: Reviews,
  sellerIds: readonly number[],
  { onlyNew }: { readonly onlyNew: boolean },
): readonly number[] =>
  [...new Set(sellerIds)]
    .filter((sellerId) => {
      const status = reviews.find((review) => review.sellerId === sellerId)?.status;
      return status === undefined || (!onlyNew && (status === 'rejected' || status === 'archived'));
    })
    .sort((a, b) => a - b);

export const submitted = (
  reviews: Reviews,
  sellerIds: readonly number[],
  since: number,
  at: string,
): Reviews => [
  ...reviews.filter(({ sellerId }) => !sellerIds.includes(sellerId)),
  ...sellerIds.map((sellerId) => ({ sellerId, status: 'processing' as const, since, at })),
];

export const reviewed = (
  reviews: Reviews,
  { sellerId, status, rejectionReason }: Omit<SellerReview, 'since' | 'at'>,
  at: string,
): Reviews =>
  reviews.map((review) =>
    review.sellerId === sellerId ? { sellerId, status, rejectionReason, since: review.since, at } : review,
  );

/** Restarts the reviews: they were about other content. A seller that archived it no longer sees it. */
export const withNewContent = (reviews: Reviews, since: number, at: string): Reviews =>
  reviews.map((review) =>
    review.status === 'archived' ? review : { sellerId: review.sellerId, status: 'processing', since, at },
  );

export const putAway = (reviews: Reviews, at: string): Reviews =>
  reviews.map((review) =>
    review.status === 'archived'
      ? review
      : { sellerId: review.sellerId, status: 'archived', since: review.since, at },
  );
