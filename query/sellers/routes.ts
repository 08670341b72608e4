import { z } from 'zod';
import { assetIdOf, assetResource, type AssetResource } from '../../domain/assets/resource.ts';
import { assetFold } from '../../domain/assets/asset.ts';
import { assetIdsOf, creativeIdOf, shownCreativeId } from '../../domain/creatives/resource.ts';
import { creativeFold } from '../../domain/creatives/creative.ts';
import { ReviewStatus } from '../../domain/creatives/seller-reviews.ts';
import { sellerSubmission, SellerSubmission } from '../../domain/creatives/seller-submission.ts';
import { sellerResource, SellerResource } from '../../domain/sellers/resource.ts';
import { loadState } from '../../shared/aggregate/load-stream.ts';
import type { SnapshotStore } from '../../shared/aggregate/snapshots.ts';
import { createSharedForEach, type ForEach } from '../../shared/async/limit.ts';
import type { EventStore } from '../../shared/event-store/event-store.ts';
import { ApiError, notFound } from '../../shared/http/errors.ts';
import { route, type Route } from '../../shared/http/route.ts';
import {
  cursorLimitOf,
  cursorParameters,
  pageOf,
  pagingParameters,
  pathIntegerId,
} from '../../shared/http/schemas.ts';
import { refuseIfBehind } from '../resources/refuse-if-behind.ts';
import { listSubmissions, type Submission } from './list-submissions.ts';
import { readDirectory, type SellerReads } from './list.ts';

export interface SubmissionReads extends SellerReads {
  readonly store: EventStore;
  readonly snapshots: SnapshotStore;
  readonly baseUrl: () => string;
}

const LIMIT_MAX = 50;
const AT_ONCE = { each: 4, together: 8 } as const;

const SubmissionPage = z.strictObject({
  submissions: z.array(SellerSubmission),
  nextCursor: z.string().optional().meta({ description: 'Absent on the last page.' }),
});

export const sellerReadRoutes = (
  reads: SubmissionReads,
  forEach = createSharedForEach(AT_ONCE),
): readonly Route[] => [listRoute(reads), submissionsRoute(reads, forEach)];

const listRoute = (reads: SellerReads): Route =>
  route({
    method: 'get',
    path: '/api/v2/buyer/sellers',
    operationId: 'listSellers',
    summary: 'The sellers that creatives can be submitted to, by their ids',
    tag: 'Storefronts',
    access: 'exchange:read',
    query: z.object(pagingParameters(200)),
    responses: { 200: { description: 'One page', data: z.array(SellerResource), paginated: true } },
    handle: async ({ query, request }) => {
      const { skip, take } = pageOf(query);
      const directory = await readDirectory(reads, request.principal.customerId).catch(refuseIfBehind);
      const sellers = directory.filter(({ retired }) => !retired);
      const data = sellers.slice(skip, skip + take).map(sellerResource);
      const pagination = { skip, take, total: sellers.length, hasMore: skip + data.length < sellers.length };
      return { status: 200, data, pagination };
    },
  });

const submissionsRoute = (reads: SubmissionReads, forEach: ForEach): Route =>
  route({
    method: 'get',
    path: '/api/v2/buyer/sellers/{sellerId}/submissions',
    operationId: 'listSellerSubmissions',
    summary: 'The creatives that were submitted to a seller, for that seller',
    tag: 'Storefronts',
    access: 'exchange:review',
    params: z.object({ sellerId: pathIntegerId('seller') }),
    query: z.object({
      status: ReviewStatus.optional().meta({
        description:
          'Leaves out what the seller has said something else of: a page may then have fewer, or none, and more follow.',
      }),
      ...cursorParameters(LIMIT_MAX),
    }),
    responses: { 200: { description: 'One page', data: SubmissionPage } },
    handle: async ({ params: { sellerId }, query, request }) => {
      const after = query.cursor === undefined ? undefined : creativeIdOf(query.cursor);
      if (query.cursor !== undefined && after === undefined) throw badCursor();
      const { customerId } = request.principal;
      const limit = cursorLimitOf(query);
      const page = await listSubmissions(reads, customerId, sellerId, after, limit).catch(refuseIfBehind);
      if (page === undefined) throw notFound('seller');
      const found = new Map<Submission, SellerSubmission>();
      await forEach(page.submissions, async (one) => {
        const submission = await shown(reads, sellerId, one);
        if (submission !== undefined) found.set(one, submission);
      });
      const submissions = page.submissions
        .flatMap((one) => found.get(one) ?? [])
        .filter(({ status }) => query.status === undefined || status === query.status);
      const last = page.hasMore ? page.submissions.at(-1) : undefined;
      return { status: 200, data: { submissions, nextCursor: last && shownCreativeId(last.creativeId) } };
    },
  });

/** The stream decides: a restored read model may contain submissions that the log does not. */
const shown = async (
  reads: SubmissionReads,
  sellerId: number,
  { owner, creativeId }: Submission,
): Promise<SellerSubmission | undefined> => {
  const creative = await loadState(reads, creativeFold, owner, creativeId);
  if (creative?.reviews?.some((review) => review.sellerId === sellerId) !== true) return undefined;
  const assetIds = assetIdsOf(creative);
  const assets = await Promise.all(assetIds.map((id) => foldAsset(reads, owner, id)));
  return sellerSubmission(
    creative,
    sellerId,
    assets.filter((asset) => asset !== undefined),
  );
};

const foldAsset = async (
  { store, snapshots, baseUrl }: SubmissionReads,
  customerId: number,
  shownId: string,
): Promise<AssetResource | undefined> => {
  const assetId = assetIdOf(shownId);
  const asset = assetId && (await loadState({ store, snapshots }, assetFold, customerId, assetId));
  return asset && asset.status === 'READY' ? assetResource(asset, baseUrl()) : undefined;
};

const badCursor = (): ApiError =>
  new ApiError({
    code: 'VALIDATION_ERROR',
    message: 'This is not a cursor. Send the nextCursor of the previous page, or none for the first page.',
    field: 'cursor',
  });
