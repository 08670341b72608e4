import { z } from 'zod';
import { SellerStatus } from '../../domain/creatives/seller-reviews.ts';
import { route, type Route } from '../../shared/http/route.ts';
import { pathIntegerId, pathTextId } from '../../shared/http/schemas.ts';
import { ReviewCreativeBody, SubmitCreativeBody } from '../../domain/creatives/input.ts';
import { reviewAsSeller, reviewOwnCreative, submitCreative, type ReviewStores } from './review-creative.ts';

const path = '/api/v2/buyer/creatives/{cid}';
const tag = 'Creatives';
const cid = pathTextId('creative');

const SubmittedCreative = z
  .strictObject({ sellerStatuses: z.array(SellerStatus), taskId: z.uuid() })
  .meta({ id: 'SubmittedCreative' });

export const creativeReviewRoutes = (stores: ReviewStores): readonly Route[] => [
  route({
    method: 'post',
    path: `${path}/submit`,
    operationId: 'submitCreative',
    summary: 'Submit a creative to sellers; reviews in progress are not affected',
    tag,
    access: 'exchange:write',
    params: z.object({ cid }),
    body: SubmitCreativeBody,
    responses: {
      202: { description: 'The reviews of these sellers, and the task', data: SubmittedCreative },
    },
    handle: async ({ params, body: { sellerIds }, request }) => ({
      status: 202,
      data: await submitCreative(stores, params.cid, sellerIds, request),
    }),
  }),
  route({
    method: 'put',
    path: `${path}/sellers/{sellerId}/review`,
    operationId: 'reviewCreative',
    summary:
      "Record a seller's review of a creative: as the seller, or as the account below a sandbox advertiser",
    tag,
    access: 'exchange:write',
    otherAccess: 'exchange:review',
    params: z.object({ cid, sellerId: pathIntegerId('seller') }),
    body: ReviewCreativeBody,
    responses: { 200: { description: "The seller's review", data: SellerStatus } },
    handle: async ({ params, body, request }) => {
      const review = request.principal.user?.role === 'seller' ? reviewAsSeller : reviewOwnCreative;
      return { status: 200, data: await review(stores, params.cid, params.sellerId, body, request) };
    },
  }),
];
