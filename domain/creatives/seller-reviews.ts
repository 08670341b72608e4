import type { CreativeReviewed } from './creative-events.ts';
import type { ReviewStatus, SellerReview } from './seller-review-resource.ts';

/**
 * How a creative's reviews follow from what happens to it, and what a seller may say next. A review is of the content
 * that the creative has since `since`: with other content everything begins anew.
 */

type Reviews = readonly SellerReview[];

/** What a seller may say after what. Nobody says `processing`: being submitted, and new content, lead back to it. */
export const reviewSteps: Readonly<Record<ReviewStatus, readonly ReviewStatus[]>> = {
  processing: ['pending_review', 'approved', 'rejected', 'archived'],
  pending_review: ['approved', 'rejected', 'archived'],
  approved: ['rejected', 'suspended', 'archived'],
  rejected: ['pending_review', 'approved', 'archived'],
  suspended: ['approved', 'rejected', 'archived'],
  archived: [],
};

/** Those among the sellers that a submission brings the creative to: not who has it under review, or holds it back. */
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

/** Nothing that was said of the content before holds for the new one. A seller that has put it away does not see it. */
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
