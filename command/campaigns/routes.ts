import { z } from 'zod';
import {
  campaignIdOf,
  campaignResource,
  CampaignResource,
  type Campaign,
} from '../../domain/campaigns/resource.ts';
import type { CampaignStep, MoveCampaign, UpdateCampaign } from '../../domain/campaigns/campaign.ts';
import { isoTimestamp } from '../../shared/async/clock.ts';
import { notFound } from '../../shared/http/errors.ts';
import { route, type RequestContext, type Route } from '../../shared/http/route.ts';
import { pathTextId } from '../../shared/http/schemas.ts';
import { loadAdvertiser } from '../advertisers/handler.ts';
import { CreateCampaignBody, UpdateCampaignBody } from '../../domain/campaigns/input.ts';
import { createCampaign } from './commands.ts';
import { loadCampaign, runOnCampaign, type CampaignStores } from './handler.ts';

const path = '/api/v2/buyer/campaigns';
const write = { tag: 'Campaigns', access: 'exchange:write' } as const;
const params = z.object({ id: pathTextId('campaign') });

export const campaignWriteRoutes = (stores: CampaignStores): readonly Route[] => [
  createRoute(stores),
  updateRoute(stores),
  stepRoute(stores, 'execute', 'executeCampaign', 'LaunchCampaign', 'Launch a draft'),
  stepRoute(stores, 'pause', 'pauseCampaign', 'PauseCampaign', 'Pause an active campaign'),
  stepRoute(stores, 'reactivate', 'reactivateCampaign', 'ReactivateCampaign', 'Reactivate a paused campaign'),
  archiveRoute(stores),
];

const createRoute = (stores: CampaignStores): Route =>
  route({
    ...write,
    method: 'post',
    path,
    operationId: 'createCampaign',
    description:
      'Creates a draft, which `/execute` launches. `budget.currency` must be the currency of the ' +
      'advertiser, which its first campaign locks.',
    alsoRefuses: ['NOT_FOUND'],
    summary: "Create a campaign. An advertiser's first one locks its currency.",
    body: CreateCampaignBody,
    responses: { 201: { description: 'The new campaign, a draft', data: CampaignResource } },
    handle: async ({ body, request }) => ({
      status: 201,
      data: campaignResource(await createCampaign(stores, body, request)),
    }),
  });

const updateRoute = (stores: CampaignStores): Route =>
  route({
    ...write,
    method: 'put',
    path: `${path}/{id}`,
    operationId: 'updateCampaign',
    description:
      'Members that are left out stay, `null` clears one. With `expectedRevision`, a change of ' +
      'another client in between is 409 with both revisions in `details`. Completed and archived ' +
      'campaigns are read only.',
    summary: 'Change members of a campaign; those left out stay as they are',
    params,
    body: UpdateCampaignBody,
    responses: { 200: { description: 'The campaign after the change', data: CampaignResource } },
    handle: async ({ params: { id }, body, request }) => {
      const { expectedRevision, id: ownId, advertiserId, phase, ...changes } = body;
      const unchangeable = { id: ownId, advertiserId, phase };
      const now = isoTimestamp(stores.clock.now());
      const command = { type: 'UpdateCampaign', now, changes, expectedRevision, unchangeable } as const;
      return { status: 200, data: campaignResource(await run(stores, id, command, request)) };
    },
  });

const rulesOfSteps = {
  LaunchCampaign:
    'Launches a draft, and from then on submits each complete creative of the campaign to the sellers that share a ' +
    'channel with the advertiser. A paused campaign needs `/reactivate`: 409 with `details.phase`.',
  PauseCampaign:
    'An active campaign only. No further creative is submitted until the campaign is reactivated.',
  ReactivateCampaign: 'A paused campaign only, whose flight is not over.',
} as const satisfies Partial<Record<CampaignStep, string>>;

const stepRoute = (
  stores: CampaignStores,
  action: string,
  operationId: string,
  type: keyof typeof rulesOfSteps,
  summary: string,
): Route =>
  route({
    ...write,
    method: 'post',
    path: `${path}/{id}/${action}`,
    operationId,
    summary: `${summary}; repeating changes nothing`,
    description: `${rulesOfSteps[type]} Repeating changes nothing.`,
    params,
    responses: { 200: { description: 'The campaign in its new phase', data: CampaignResource } },
    handle: async ({ params: { id }, request }) => {
      const now = isoTimestamp(stores.clock.now());
      return { status: 200, data: campaignResource(await run(stores, id, { type, now }, request)) };
    },
  });

const archiveRoute = (stores: CampaignStores): Route =>
  route({
    ...write,
    method: 'delete',
    path: `${path}/{id}`,
    operationId: 'deleteCampaign',
    summary: 'Archive a campaign. It stays readable; repeating changes nothing.',
    params,
    responses: { 204: { description: 'Archived' } },
    handle: async ({ params: { id }, request }) => {
      const now = isoTimestamp(stores.clock.now());
      await run(stores, id, { type: 'ArchiveCampaign', now }, request);
      return { status: 204 };
    },
  });

type Below<Command> = Omit<Command, 'advertiserIsArchived'>;

const run = async (
  stores: CampaignStores,
  shownId: string,
  command: Below<UpdateCampaign> | Below<MoveCampaign>,
  request: RequestContext,
): Promise<Campaign> => {
  const { customerId } = request.principal;
  const campaignId = campaignIdOf(shownId);
  const known = campaignId === undefined ? undefined : await loadCampaign(stores, customerId, campaignId);
  if (known === undefined) throw notFound('campaign');
  const advertiser = await loadAdvertiser(stores, customerId, known.advertiserId);
  const advertiserIsArchived = advertiser?.status !== 'ACTIVE';
  return runOnCampaign(stores, known.campaignId, { ...command, advertiserIsArchived }, request);
};
