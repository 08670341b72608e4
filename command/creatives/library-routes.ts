import { z } from 'zod';
import {
  creativeIdOf,
  creativeResource,
  CreativeResource,
  type Creative,
} from '../../domain/creatives/resource.ts';
import { campaignIdOf } from '../../domain/campaigns/resource.ts';
import { ApiError, notFound } from '../../shared/http/errors.ts';
import { route, type RequestContext, type Route } from '../../shared/http/route.ts';
import { pathIntegerId, pathTextId } from '../../shared/http/schemas.ts';
import { derivedId } from '../../shared/aggregate/ids.ts';
import { writableAdvertiser } from '../advertisers/handler.ts';
import { archiveCreative, attachCreative, detachCreative, promoteCreative } from './commands.ts';
import { createInLibrary } from './create-creative.ts';
import {
  AttachCreativeBody,
  CreateLibraryCreativeBody,
  SaveToLibraryBody,
} from '../../domain/creatives/input.ts';
import {
  creativeDoneBefore,
  findCampaign,
  findCreative,
  openCampaign,
  type CreativeWrites,
} from './handler.ts';

const path = '/api/v2/buyer/advertisers/{id}/creatives';
const tag = 'Creatives';
const id = pathIntegerId('advertiser');
const params = z.object({ id });
const both = z.object({ id, cid: pathTextId('creative') });
const creative = { data: CreativeResource };

export const libraryCreativeWriteRoutes = (writes: CreativeWrites): readonly Route[] => [
  createRoute(writes),
  saveRoute(writes),
  attachRoute(writes),
  detachRoute(writes),
  archiveRoute(writes),
];

const createRoute = (writes: CreativeWrites): Route =>
  route({
    method: 'post',
    path: `${path}/create`,
    operationId: 'createAdvertiserCreative',
    summary: "Create a creative in an advertiser's library; with a role it is on the shelf",
    tag,
    access: 'exchange:write',
    params,
    body: CreateLibraryCreativeBody,
    responses: { 201: { description: 'The new creative', ...creative } },
    handle: async ({ params: { id: advertiserId }, body, request }) => ({
      status: 201,
      data: creativeResource(await createInLibrary(writes, advertiserId, body, request)),
    }),
  });

const saveRoute = (writes: CreativeWrites): Route =>
  route({
    method: 'post',
    path: `${path}/save-to-library`,
    operationId: 'saveCreativesToLibrary',
    summary: "Put creatives on the library's shelf",
    tag,
    access: 'exchange:write',
    params,
    body: SaveToLibraryBody,
    responses: {
      200: { description: 'The creatives, in the order of the request', data: z.array(CreativeResource) },
    },
    handle: async ({ params: { id: advertiserId }, body: { creativeIds, role }, request }) => {
      const { customerId } = request.principal;
      const isRepeat = await request.hasRunBefore();
      if (!isRepeat) await writableAdvertiser(writes, customerId, advertiserId);
      const found = await Promise.all(
        creativeIds.map((shownId, n) =>
          shelved(writes, advertiserId, shownId, `creativeIds.${n}`, request, isRepeat),
        ),
      );
      const saved: Creative[] = [];
      for (const one of found) {
        const own = { ...request, commandId: derivedId(request.commandId, one.creativeId) };
        saved.push(await promoteCreative(writes, one, role, own));
      }
      return { status: 200, data: saved.map(creativeResource) };
    },
  });

const shelved = async (
  writes: CreativeWrites,
  advertiserId: number,
  shownId: string,
  field: string,
  request: RequestContext,
  isRepeat: boolean,
): Promise<Creative> => {
  const { customerId } = request.principal;
  const isOwn = (one: Creative): boolean => one.advertiserId === advertiserId;
  const found = await findCreative(writes, customerId, shownId, isOwn).catch((error: unknown) => {
    throw error instanceof ApiError ? new ApiError({ ...error.body, field }) : error;
  });
  if (found.state === 'archived' && !isRepeat) {
    throw new ApiError({ code: 'CONFLICT', message: 'The creative is archived. Leave it out.', field });
  }
  return found;
};

const attachRoute = (writes: CreativeWrites): Route =>
  route({
    method: 'post',
    path: `${path}/{cid}/campaigns`,
    operationId: 'assignCreativeToCampaign',
    summary: 'Add a creative to another campaign of its advertiser',
    tag,
    access: 'exchange:write',
    params: both,
    body: AttachCreativeBody,
    responses: { 200: { description: 'The creative', ...creative } },
    handle: async ({ params: { id: advertiserId, cid }, body, request }) => {
      const { customerId } = request.principal;
      const found = await ofAdvertiser(writes, advertiserId, cid, request);
      const isDone = (await creativeDoneBefore(writes, found.creativeId, request)) !== undefined;
      const find = isDone ? findCampaign : openCampaign;
      const campaign = await find(writes, customerId, body.campaignId).catch((error: unknown) => {
        const isUnknown = error instanceof ApiError && error.status === 404;
        throw isUnknown ? new ApiError({ ...error.body, field: 'campaignId' }) : error;
      });
      if (campaign.advertiserId !== advertiserId) {
        throw new ApiError({ ...notFound('campaign').body, field: 'campaignId' });
      }
      const attached = await attachCreative(writes, found, campaign, request);
      return { status: 200, data: creativeResource(attached) };
    },
  });

const detachRoute = (writes: CreativeWrites): Route =>
  route({
    method: 'delete',
    path: `${path}/{cid}/campaigns/{campaignId}`,
    operationId: 'unassignCreativeFromCampaign',
    summary: 'Remove a creative from a campaign. It stays in the library.',
    tag,
    access: 'exchange:write',
    params: z.object({ ...both.shape, campaignId: pathTextId('campaign') }),
    responses: { 204: { description: 'Removed' } },
    handle: async ({ params: { id: advertiserId, cid, campaignId: shown }, request }) => {
      const found = await ofAdvertiser(writes, advertiserId, cid, request);
      const campaignId = campaignIdOf(shown);
      if (campaignId === undefined) throw notFound('campaign');
      await detachCreative(writes, found, { campaignId, archivesLast: false }, request);
      return { status: 204 };
    },
  });

const archiveRoute = (writes: CreativeWrites): Route =>
  route({
    method: 'delete',
    path: `${path}/{cid}`,
    operationId: 'archiveCreative',
    summary: 'Archive a creative in all of its campaigns. It stays readable; repeating changes nothing.',
    tag,
    access: 'exchange:write',
    params: both,
    responses: { 204: { description: 'Archived' } },
    handle: async ({ params: { id: advertiserId, cid }, request }) => {
      await archiveCreative(writes, await ofAdvertiser(writes, advertiserId, cid, request), request);
      return { status: 204 };
    },
  });

const ofAdvertiser = (
  writes: CreativeWrites,
  advertiserId: number,
  shownId: string,
  { principal: { customerId } }: RequestContext,
): Promise<Creative> => {
  if (creativeIdOf(shownId) === undefined) throw notFound('creative');
  return findCreative(writes, customerId, shownId, (one) => one.advertiserId === advertiserId);
};
