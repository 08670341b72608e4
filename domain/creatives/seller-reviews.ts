import type { CreativeReviewed } from './creative-events.ts';
import type { ReviewStatus, SellerReview } from './seller-review-resource.ts';

type Reviews = readonly SellerReview[];

/** The statuses that a seller may set next. No seller sets `processing`: a submission and new content lead to it. */
export const reviewSteps: Readonly<Record<ReviewStatus, readonly ReviewStatus[]>> = {
  processing: ['pending_review', 'approved', 'rejected', 'archived'],
  pending_review: ['approved', 'rejected', 'archived'],
  approved: ['rejected', 'suspended', 'archived'],
  rejected: ['pending_review', 'approved', 'archived'],
  suspended: ['approved', 'rejected', 'archived'],
  archived: [],
};

/**
 * The sellers that a submission reaches: not those that are reviewing the creative, or have approved or suspended it.
 */
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
  { sellerId, status, rejectionReason }: CreativeReviewed,
  at: string,
): Reviews =>
  reviews.map((review) =>
    review.sellerId === sellerId ? { sellerId, status, rejectionReason, since: review.since, at } : review,
  );

/** Restarts each review: it was about other content. A seller that archived the creative no longer sees it. */
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
