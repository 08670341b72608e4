import { z } from 'zod';
import { campaignIdOf } from '../../domain/campaigns/resource.ts';
import { CreativeDetail } from '../../domain/creatives/creative-detail.ts';
import {
  creativeIdOf,
  creativeResource,
  CreativeResource,
  CreativeRole,
  CreativeSource,
} from '../../domain/creatives/resource.ts';
import { creativeFold } from '../../domain/creatives/creative.ts';
import { FormatKind } from '../../domain/creatives/format-kinds.ts';
import { notFound } from '../../shared/http/errors.ts';
import { declaration, route, type Reply, type Route } from '../../shared/http/route.ts';
import { boundedText } from '../../domain/values.ts';
import {
  pageOf,
  pagingParameters,
  pathIntegerId,
  pathTextId,
  queryBoolean,
} from '../../shared/http/schemas.ts';
import { shownAssets } from '../assets/find-assets.ts';
import { refuseIfBehind } from '../resources/refuse-if-behind.ts';
import { stateReader, type RowReads } from '../resources/read-row.ts';
import { getDetail, type DetailReads } from './get-detail.ts';
import {
  CREATIVES,
  listCampaignCreatives,
  listLibraryCreatives,
  type CreativePage,
  type CreativeReads,
} from './list.ts';

const tag = 'Creatives';
const search = boundedText(1, 255).optional().meta({ description: 'Part of the name; case does not count.' });
const page = { 200: { description: 'One page', data: z.array(CreativeResource), paginated: true } };

/** Endpoints 9 and 11 of the specification. */
export const creativeReadRoutes = (
  reads: RowReads & { readonly baseUrl: () => string },
): readonly Route[] => {
  const assets = shownAssets(reads);
  return [listRoute(reads), getRoute(reads), libraryRoute(reads), detailRoute({ ...reads, assets })];
};

const shownPage = (
  { creatives, total }: CreativePage,
  { skip, take }: { readonly skip: number; readonly take: number },
  owner: string,
): Reply => {
  if (creatives === undefined) throw notFound(owner);
  const data = creatives.map(creativeResource);
  return { status: 200, data, pagination: { skip, take, total, hasMore: skip + data.length < total } };
};

export const campaignCreativeList = declaration({
  method: 'get',
  path: '/api/v2/buyer/campaigns/{id}/creatives',
  operationId: 'listCampaignCreatives',
  summary: "A campaign's creatives, newest first, without the archived ones",
  tag,
  access: 'exchange:read',
  params: z.object({ id: pathTextId('campaign') }),
  query: z.object({ search, ...pagingParameters(200) }),
});

const listRoute = (reads: CreativeReads): Route =>
  route({
    ...campaignCreativeList,
    responses: page,
    handle: async ({ params: { id }, query, request }) => {
      const campaignId = campaignIdOf(id);
      if (campaignId === undefined) throw notFound('campaign');
      const { customerId } = request.principal;
      const bounds = pageOf(query);
      const found = listCampaignCreatives(reads, customerId, campaignId, query.search, bounds);
      return shownPage(await found.catch(refuseIfBehind), bounds, 'campaign');
    },
  });

export const campaignCreativeRead = declaration({
  method: 'get',
  path: '/api/v2/buyer/campaigns/{id}/creatives/{cid}',
  operationId: 'getCampaignCreative',
  summary: 'One creative of a campaign',
  tag,
  access: 'exchange:read',
  params: z.object({ id: pathTextId('campaign'), cid: pathTextId('creative') }),
});

const getRoute = (reads: RowReads): Route => {
  const readCreative = stateReader(reads, { ...creativeFold, readModel: CREATIVES, table: CREATIVES });
  return route({
    ...campaignCreativeRead,
    responses: { 200: { description: 'The creative', data: CreativeResource } },
    handle: async ({ params: { id, cid }, request }) => {
      const [campaignId, creativeId] = [campaignIdOf(id), creativeIdOf(cid)];
      if (campaignId === undefined || creativeId === undefined) throw notFound('creative');
      const creative = await readCreative(request.principal.customerId, creativeId);
      if (creative?.campaignIds.includes(campaignId) !== true) throw notFound('creative');
      return { status: 200, data: creativeResource(creative) };
    },
  });
};

export const advertiserCreativeList = declaration({
  method: 'get',
  path: '/api/v2/buyer/advertisers/{id}/creatives',
  operationId: 'listAdvertiserCreatives',
  summary: "An advertiser's creatives, newest first, without the archived ones",
  tag,
  access: 'exchange:read',
  params: z.object({ id: pathIntegerId('advertiser') }),
  query: z.object({
    role: CreativeRole.optional(),
    promoted: queryBoolean('Only what is on the shelf, or only what is not.').optional(),
    source: CreativeSource.optional(),
    formatKind: FormatKind.optional(),
    search,
    ...pagingParameters(200),
  }),
});

const libraryRoute = (reads: CreativeReads): Route =>
  route({
    ...advertiserCreativeList,
    responses: page,
    handle: async ({ params: { id }, query, request }) => {
      const bounds = pageOf(query);
      const { customerId } = request.principal;
      const found = listLibraryCreatives(reads, customerId, id, query, bounds);
      return shownPage(await found.catch(refuseIfBehind), bounds, 'advertiser');
    },
  });

export const creativeDetailRead = declaration({
  method: 'get',
  path: '/api/v2/buyer/creatives/{cid}/detail',
  operationId: 'getCreativeDetail',
  summary: "A creative with its assets, campaigns and sellers' reviews, archived ones too",
  tag,
  access: 'exchange:read',
  params: z.object({ cid: pathTextId('creative') }),
});

const detailRoute = (reads: DetailReads): Route =>
  route({
    ...creativeDetailRead,
    responses: { 200: { description: 'The detail', data: CreativeDetail } },
    handle: async ({ params: { cid }, request }) => {
      const creativeId = creativeIdOf(cid);
      if (creativeId === undefined) throw notFound('creative');
      const data = await getDetail(reads, request.principal.customerId, creativeId).catch(refuseIfBehind);
      if (data === undefined) throw notFound('creative');
      return { status: 200, data };
    },
  });
