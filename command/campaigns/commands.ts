import type { Campaign } from '../../domain/campaigns/resource.ts';
import { isoTimestamp } from '../../shared/async/clock.ts';
import { omitUndefined } from '../../shared/aggregate/omit-undefined.ts';
import { ApiError } from '../../shared/http/errors.ts';
import type { RequestContext } from '../../shared/http/route.ts';
import { derivedId } from '../../shared/aggregate/ids.ts';
import { lockCurrency } from '../advertisers/handler.ts';
import type { CreateCampaignBody } from '../../domain/campaigns/input.ts';
import { createNewCampaign, loadCampaign, type CampaignStores } from './handler.ts';

/**
 * Locks the advertiser's currency first: in the other order it could change while the campaign exists. A
 * crash in between leaves a lock, and a repeat with the same key completes it. The repeat first looks for the
 * campaign, because the advertiser may be archived since.
 * @throws ApiError NOT_FOUND, CONFLICT (archived), VALIDATION_ERROR (currency); then nothing has changed
 */
export const createCampaign = async (
  stores: CampaignStores,
  body: CreateCampaignBody,
  request: RequestContext,
): Promise<Campaign> => {
  const { customerId } = request.principal;
  const campaignId = derivedId(request.commandId, 'campaign');
  const now = isoTimestamp(stores.clock.now());
  const { advertiserId, budget, ...members } = body;
  const before = (await request.hasRunBefore())
    ? await loadCampaign(stores, customerId, campaignId)
    : undefined;
  const currency =
    before?.currency ??
    (await lockCurrency(stores, advertiserId, budget?.currency, now, request).catch(namingTheAdvertiser));
  const campaign = omitUndefined({
    campaignId,
    customerId,
    advertiserId,
    currency,
    budget: budget && { total: budget.total, currency },
    ...members,
  });
  return createNewCampaign(stores, campaignId, { type: 'CreateCampaign', now, campaign }, request);
};

/** Names the body's member, because the path is correct. */
const namingTheAdvertiser = (error: unknown): never => {
  const isUnknown = error instanceof ApiError && error.body.code === 'NOT_FOUND';
  throw isUnknown ? new ApiError({ ...error.body, field: 'advertiserId' }) : error;
};
