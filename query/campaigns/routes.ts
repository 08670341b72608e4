import { z } from 'zod';
import {
  campaignIdOf,
  CampaignPhase,
  campaignResource,
  CampaignResource,
} from '../../domain/campaigns/resource.ts';
import { campaignFold } from '../../domain/campaigns/campaign.ts';
import { notFound } from '../../shared/http/errors.ts';
import { declaration, route, type Route } from '../../shared/http/route.ts';
import { pagingParameters, pathIntegerId, pathTextId } from '../../shared/http/schemas.ts';
import { listRoute } from '../resources/list-route.ts';
import { stateReader, type RowReads } from '../resources/read-row.ts';
import { listCampaigns } from './list.ts';

const path = '/api/v2/buyer/campaigns';
const tag = 'Campaigns';

export const campaignPlace = {
  path: `${path}/{id}`,
  params: z.object({ id: pathTextId('campaign') }),
  tag,
};

export const campaignReadRoutes = (reads: RowReads): readonly Route[] => [
  listRoute(campaignList, CampaignResource, (customerId, filters, page) =>
    listCampaigns(reads, customerId, filters, page),
  ),
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

export const campaignRead = declaration({
  ...campaignPlace,
  method: 'get',
  operationId: 'getCampaign',
  summary: 'One campaign, archived ones too',
  access: 'exchange:read',
});

const detailRoute = (reads: RowReads): Route => {
  const readCampaign = stateReader(reads, { ...campaignFold, readModel: 'campaigns', table: 'campaigns' });
  return route({
    ...campaignRead,
    responses: { 200: { description: 'The campaign', data: CampaignResource } },
    handle: async ({ params: { id }, request }) => {
      const campaignId = campaignIdOf(id);
      const campaign = campaignId && (await readCampaign(request.principal.customerId, campaignId));
      if (!campaign) throw notFound('campaign');
      return { status: 200, data: campaignResource(campaign) };
    },
  });
};
