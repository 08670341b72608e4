import { z } from 'zod';
import {
  campaignIdOf,
  CampaignPhase,
  campaignResource,
  CampaignResource,
  type Campaign,
} from '../../domain/campaigns/campaign-resource.ts';
import { notFound } from '../../shared/http/errors.ts';
import { declaration, route, type Route } from '../../shared/http/route.ts';
import { pageOf, pagingParameters, pathIntegerId, pathTextId } from '../../shared/http/schemas.ts';
import { behind } from '../resources/behind.ts';
import { getRow, type RowSource } from '../resources/get-row.ts';
import type { ResourceReads } from '../resources/resource-reads.ts';
import { CAMPAIGNS, listCampaigns } from './list-campaigns.ts';

export interface CampaignRouteReads extends ResourceReads {
  readonly streamOf: RowSource<Campaign>['streamOf'];
  readonly foldCampaign: RowSource<Campaign>['fold'];
}

const path = '/api/v2/buyer/campaigns';
const tag = 'Campaigns';

/** Campaigns of decisions.md section 2. */
export const campaignReadRoutes = (reads: CampaignRouteReads): readonly Route[] => [
  listRoute(reads),
  detailRoute(reads),
];

export const campaignList = declaration({
  method: 'get',
  path,
  operationId: 'listCampaigns',
  summary: 'List campaigns, newest first; archived ones only where they are asked for',
  tag,
  access: 'exchange:read',
  query: z.object({
    advertiserId: pathIntegerId('advertiser').optional(),
    phase: CampaignPhase.optional().meta({ description: 'Default: all but archived.' }),
    ...pagingParameters(200),
  }),
});

const listRoute = (reads: CampaignRouteReads): Route =>
  route({
    ...campaignList,
    responses: { 200: { description: 'One page', data: z.array(CampaignResource), paginated: true } },
    handle: async ({ query, request }) => {
      const { skip, take } = pageOf(query);
      const { customerId } = request.principal;
      const page = { skip, take };
      const { campaigns, total } = await listCampaigns(reads, customerId, query, page).catch(behind);
      const data = campaigns.map(campaignResource);
      return { status: 200, data, pagination: { ...page, total, hasMore: skip + data.length < total } };
    },
  });

export const campaignRead = declaration({
  method: 'get',
  path: `${path}/{id}`,
  operationId: 'getCampaign',
  summary: 'One campaign, archived ones too',
  tag,
  access: 'exchange:read',
  params: z.object({ id: pathTextId('campaign') }),
});

const detailRoute = (reads: CampaignRouteReads): Route =>
  route({
    ...campaignRead,
    responses: { 200: { description: 'The campaign', data: CampaignResource } },
    handle: async ({ params: { id }, request }) => {
      const campaignId = campaignIdOf(id);
      if (campaignId === undefined) throw notFound('campaign');
      const source: RowSource<Campaign> = {
        readModel: CAMPAIGNS,
        table: CAMPAIGNS,
        streamOf: reads.streamOf,
        fold: reads.foldCampaign,
      };
      const campaign = await getRow(reads, source, request.principal.customerId, campaignId);
      if (campaign === undefined) throw notFound('campaign');
      return { status: 200, data: campaignResource(campaign) };
    },
  });
