import { creativeIdOf, shownCreativeId, type Creative } from '../../domain/creatives/resource.ts';
import type { CreativeCommand } from '../../domain/creatives/creative.ts';
import { sellerStatuses, type SellerStatus } from '../../domain/creatives/seller-reviews.ts';
import { isoTimestamp } from '../../shared/async/clock.ts';
import type { CommandContext } from '../../shared/aggregate/command-context.ts';
import { ofRequest } from '../../shared/aggregate/handler-for.ts';
import { ApiError, notFound } from '../../shared/http/errors.ts';
import type { RequestContext } from '../../shared/http/route.ts';
import { loadAdvertiser } from '../advertisers/handler.ts';
import type { CampaignStores } from '../campaigns/handler.ts';
import { loadDirectory, noSeller } from '../sellers/handler.ts';
import { acceptTask } from '../tasks/commands.ts';
import type { ReviewCreativeBody } from '../../domain/creatives/input.ts';
import {
  creativeDoneBefore,
  creativeOf,
  executeOnCreative,
  findCreative,
  isAdvertiserArchived,
  runOnCreative,
} from './handler.ts';

/**
 * @returns the reviews of these sellers, and the task
 * @throws ApiError NOT_FOUND (creative, seller), CONFLICT (archived, not ready)
 */
export const submitCreative = async (
  stores: CampaignStores,
  shownId: string,
  sellerIds: readonly number[],
  request: RequestContext,
): Promise<{ readonly sellerStatuses: readonly SellerStatus[]; readonly taskId: string }> => {
  const creative = await findCreative(stores, request.principal.customerId, shownId, () => true);
  const { creativeId, advertiserId } = creative;
  const directory = await loadDirectory(stores);
  // A repeat succeeds even if the seller was retired since.
  if ((await creativeDoneBefore(stores, creativeId, request)) === undefined) {
    const isOpen = (id: number): boolean => directory.some((one) => one.sellerId === id && !one.retired);
    const unknown = sellerIds.findIndex((sellerId) => !isOpen(sellerId));
    if (unknown >= 0) throw noSeller(`sellerIds.${unknown}`);
  }
  const command: CreativeCommand = {
    type: 'SubmitCreative',
    now: isoTimestamp(stores.clock.now()),
    advertiserIsArchived: await isAdvertiserArchived(stores, creative),
    sellerIds,
    onlyNew: false,
  };
  const { reviews = [] } = await runOnCreative(stores, creativeId, command, request);
  const asked = reviews.filter(({ sellerId }) => sellerIds.includes(sellerId));
  const sellers = asked
    .map(({ sellerId, status }) => ({ sellerId, status }))
    .sort((a, b) => a.sellerId - b.sellerId);
  const taskId = await acceptTask(
    stores,
    {
      taskType: 'creative_sync',
      advertiserId,
      creativeId: shownCreativeId(creativeId),
      response: { sellers },
    },
    request,
  );
  return { sellerStatuses: sellerStatuses(asked, directory), taskId };
};

/**
 * Only for sandbox advertisers, whose creatives are never shown.
 * @throws ApiError NOT_FOUND (creative, no review of that seller), FORBIDDEN (no sandbox), CONFLICT
 */
export const reviewOwnCreative = async (
  stores: CampaignStores,
  shownId: string,
  sellerId: number,
  body: ReviewCreativeBody,
  request: RequestContext,
): Promise<SellerStatus> => {
  const { customerId } = request.principal;
  const creative = await findCreative(stores, customerId, shownId, () => true);
  const advertiser = await loadAdvertiser(stores, customerId, creative.advertiserId);
  if (advertiser?.sandbox !== true) {
    throw new ApiError({
      code: 'FORBIDDEN',
      message: `Sellers review the creatives of advertiser ${creative.advertiserId}. You may enter reviews yourself only below an advertiser that was created with sandbox: true.`,
    });
  }
  const command = await reviewCommand(stores, creative, sellerId, body);
  return statusOf(stores, await runOnCreative(stores, creative.creativeId, command, request), sellerId);
};

export interface ReviewStores extends CampaignStores {
  /** @param creativeId UUID @returns undefined when `sellerAccount` does not belong to the seller */
  readonly findSubmission: (
    sellerAccount: number,
    submission: { readonly sellerId: number; readonly creativeId: string },
  ) => Promise<number | undefined>;
}

/**
 * Creatives that were not submitted to the seller look as if they did not exist. The account may change the
 * creative after the seller has looked at it, so an approval must name its revision.
 * @throws ApiError VALIDATION_ERROR (an approval without a revision), NOT_FOUND, CONFLICT
 */
export const reviewAsSeller = async (
  stores: ReviewStores,
  shownId: string,
  sellerId: number,
  body: ReviewCreativeBody,
  request: RequestContext,
): Promise<SellerStatus> => {
  if (body.status === 'approved' && body.expectedRevision === undefined) {
    throw new ApiError({
      code: 'VALIDATION_ERROR',
      message:
        'expectedRevision is required to approve: give the revision of the creative that you have reviewed.',
      field: 'expectedRevision',
    });
  }
  const creativeId = creativeIdOf(shownId);
  if (creativeId === undefined) throw notFound('creative');
  const customerId = await stores.findSubmission(request.principal.customerId, { sellerId, creativeId });
  if (customerId === undefined) throw notFound('creative');
  // The stream decides: a restored read model may contain submissions that the log lost.
  const creative = await findCreative(stores, customerId, shownId, ({ reviews = [] }) =>
    reviews.some((review) => review.sellerId === sellerId),
  );
  const command = await reviewCommand(stores, creative, sellerId, body);
  const { context, ...options } = ofRequest(request);
  const outcome = await executeOnCreative(stores, creativeId, command, {
    ...options,
    context: { ...context, customerId },
  });
  return statusOf(stores, creativeOf(outcome), sellerId);
};

/** @throws ApiError NOT_FOUND (creative, no review of that seller), CONFLICT */
export const reviewForSeller = async (
  stores: CampaignStores,
  shownId: string,
  sellerId: number,
  body: ReviewCreativeBody,
  context: CommandContext,
): Promise<SellerStatus> => {
  const creative = await findCreative(stores, context.customerId, shownId, () => true);
  const command = await reviewCommand(stores, creative, sellerId, body);
  const outcome = await executeOnCreative(stores, creative.creativeId, command, { context });
  return statusOf(stores, creativeOf(outcome), sellerId);
};

/** Uses the loaded revision by default, so that a review never applies to a concurrent change. */
const reviewCommand = async (
  stores: CampaignStores,
  creative: Creative,
  sellerId: number,
  body: ReviewCreativeBody,
): Promise<CreativeCommand> => ({
  type: 'ReviewCreative',
  now: isoTimestamp(stores.clock.now()),
  advertiserIsArchived: await isAdvertiserArchived(stores, creative),
  sellerId,
  status: body.status,
  rejectionReason: body.rejectionReason,
  expectedRevision: body.expectedRevision ?? creative.revision,
});

const statusOf = async (
  stores: CampaignStores,
  { reviews = [] }: Creative,
  sellerId: number,
): Promise<SellerStatus> => {
  const own = reviews.filter((review) => review.sellerId === sellerId);
  const [status] = sellerStatuses(own, await loadDirectory(stores));
  if (status === undefined) throw new Error('a seller with a review is in the directory');
  return status;
};
