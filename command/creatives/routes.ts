import { z } from 'zod';
import { campaignIdOf } from '../../domain/campaigns/resource.ts';
import {
  CreateCreativeBody,
  ReviewCreativeBody,
  SubmitCreativeBody,
  UpdateCreativeBody,
} from '../../domain/creatives/input.ts';
import { creativeResource, CreativeResource, type Creative } from '../../domain/creatives/resource.ts';
import { SellerStatus } from '../../domain/creatives/seller-reviews.ts';
import { derivedId } from '../../shared/aggregate/ids.ts';
import { route, type RequestContext, type Route } from '../../shared/http/route.ts';
import { pathIntegerId, pathTextId } from '../../shared/http/schemas.ts';
import { detachCreative, updateCreative } from './commands.ts';
import { createInCampaign, duplicateCreative } from './create-creative.ts';
import { libraryCreativeWriteRoutes } from './library-routes.ts';
import {
  creativeDoneBefore,
  findCampaign,
  findCreative,
  openCampaign,
  type CreativeWrites,
} from './handler.ts';
import { reviewAsSeller, reviewOwnCreative, submitCreative, type ReviewStores } from './review-creative.ts';

const path = '/api/v2/buyer/campaigns/{id}/creatives';
const tag = 'Creatives';
const params = z.object({ id: pathTextId('campaign') });
const both = z.object({ id: pathTextId('campaign'), cid: pathTextId('creative') });
const creative = { data: CreativeResource };

/** Creatives of a campaign (endpoint 10 of the specification) and of the library, and their reviews by sellers. */
export const creativeWriteRoutes = (writes: ReviewStores): readonly Route[] => [
  createRoute(writes, `${path}/create`, 'createCampaignCreative', 'Create a creative in a campaign'),
  createRoute(writes, path, 'addCampaignCreative', 'Create a creative in a campaign (alternative path)'),
  updateRoute(writes),
  detachRoute(writes),
  duplicateRoute(writes),
  ...libraryCreativeWriteRoutes(writes),
  submitRoute(writes),
  reviewRoute(writes),
];

const createRoute = (writes: CreativeWrites, at: string, operationId: string, summary: string): Route =>
  route({
    method: 'post',
    path: at,
    operationId,
    summary,
    tag,
    access: 'exchange:write',
    params,
    body: CreateCreativeBody,
    responses: { 201: { description: 'The new creative', ...creative } },
    handle: async ({ params: { id }, body, request }) => ({
      status: 201,
      data: creativeResource(await createInCampaign(writes, id, body, request)),
    }),
  });

const updateRoute = (writes: CreativeWrites): Route =>
  route({
    method: 'put',
    path: `${path}/{cid}`,
    operationId: 'updateCampaignCreative',
    description:
      'Changes the creative in all its campaigns; members that are left out stay, `null` clears ' +
      'one. New content returns the reviews of all sellers to `processing`; a new name, role or ' +
      'frequency cap does not.',
    summary: 'Change members of a creative in all its campaigns; absent members stay unchanged',
    tag,
    access: 'exchange:write',
    params: both,
    body: UpdateCreativeBody,
    responses: { 200: { description: 'The creative after the change', ...creative } },
    handle: async ({ params: { id, cid }, body, request }) => {
      const found = await creativeIn(writes, id, cid, request);
      if ((await creativeDoneBefore(writes, found.creativeId, request)) === undefined) {
        await openCampaign(writes, request.principal.customerId, id);
      }
      return { status: 200, data: creativeResource(await updateCreative(writes, found, body, request)) };
    },
  });

const detachRoute = (writes: CreativeWrites): Route =>
  route({
    method: 'delete',
    path: `${path}/{cid}`,
    operationId: 'deleteCampaignCreative',
    summary:
      'Remove a creative from a campaign. One without other campaigns that is not on the shelf is archived.',
    tag,
    access: 'exchange:write',
    params: both,
    responses: { 204: { description: 'Removed' } },
    handle: async ({ params: { id, cid }, request }) => {
      const campaign = await findCampaign(writes, request.principal.customerId, id);
      const found = await findCreative(writes, request.principal.customerId, cid, () => true);
      const { campaignId } = campaign;
      await detachCreative(writes, found, { campaignId, archivesLast: true }, request);
      return { status: 204 };
    },
  });

const duplicateRoute = (writes: CreativeWrites): Route =>
  route({
    method: 'post',
    path: `${path}/{cid}/duplicate`,
    operationId: 'duplicateCampaignCreative',
    summary: 'Copy a creative within its campaign, as a draft named "... (copy)"',
    tag,
    access: 'exchange:write',
    params: both,
    responses: { 201: { description: 'The copy', ...creative } },
    handle: async ({ params: { id, cid }, request }) => {
      const { customerId } = request.principal;
      // A repeat of a completed request returns the copy, even if campaign or source have changed since.
      const isDone =
        (await creativeDoneBefore(writes, derivedId(request.commandId, 'creative'), request)) !== undefined;
      const campaign = isDone
        ? await findCampaign(writes, customerId, id)
        : await openCampaign(writes, customerId, id);
      const source = await findCreative(
        writes,
        customerId,
        cid,
        ({ campaignIds }) => isDone || campaignIds.includes(campaign.campaignId),
      );
      return {
        status: 201,
        data: creativeResource(await duplicateCreative(writes, source, campaign, request)),
      };
    },
  });

/** @throws ApiError NOT_FOUND when the creative is not in the campaign, unless this request was completed before */
const creativeIn = async (
  writes: CreativeWrites,
  shownCampaignId: string,
  shownId: string,
  request: RequestContext,
): Promise<Creative> => {
  const campaignId = campaignIdOf(shownCampaignId) ?? '';
  const { customerId } = request.principal;
  const found = await findCreative(writes, customerId, shownId, () => true);
  if (
    found.campaignIds.includes(campaignId) ||
    (await creativeDoneBefore(writes, found.creativeId, request)) !== undefined
  ) {
    return found;
  }
  return findCreative(writes, customerId, shownId, () => false);
};

const sellersPath = '/api/v2/buyer/creatives/{cid}';

const SubmittedCreative = z
  .strictObject({ sellerStatuses: z.array(SellerStatus), taskId: z.uuid() })
  .meta({ id: 'SubmittedCreative' });

const submitRoute = (stores: ReviewStores): Route =>
  route({
    method: 'post',
    path: `${sellersPath}/submit`,
    operationId: 'submitCreative',
    description:
      'The creative must be `ready`: all that its format requires is there. A seller that reviews ' +
      'it, has approved it or withholds it does not get it again. The task is done when the detail ' +
      'shows the submission, not when sellers have decided.',
    summary: 'Submit a creative to sellers; reviews in progress are not affected',
    tag,
    access: 'exchange:write',
    params: z.object({ cid: pathTextId('creative') }),
    body: SubmitCreativeBody,
    responses: {
      202: { description: 'The reviews of these sellers, and the task', data: SubmittedCreative },
    },
    handle: async ({ params: { cid }, body: { sellerIds }, request }) => ({
      status: 202,
      data: await submitCreative(stores, cid, sellerIds, request),
    }),
  });

const reviewRoute = (stores: ReviewStores): Route =>
  route({
    method: 'put',
    path: `${sellersPath}/sellers/{sellerId}/review`,
    operationId: 'reviewCreative',
    description:
      'For a key of the seller; below a sandbox advertiser also for the account itself. An approval ' +
      'by a seller must say with `expectedRevision` what the seller looked at, and is 409 if the ' +
      'content has changed since. `rejected` needs a `rejectionReason`.',
    summary:
      "Record a seller's review of a creative: as the seller, or as the account below a sandbox advertiser",
    tag,
    access: 'exchange:write',
    otherAccess: 'exchange:review',
    params: z.object({ cid: pathTextId('creative'), sellerId: pathIntegerId('seller') }),
    body: ReviewCreativeBody,
    responses: { 200: { description: "The seller's review", data: SellerStatus } },
    handle: async ({ params: { cid, sellerId }, body, request }) => {
      const review = request.principal.user?.role === 'seller' ? reviewAsSeller : reviewOwnCreative;
      return { status: 200, data: await review(stores, cid, sellerId, body, request) };
    },
  });
