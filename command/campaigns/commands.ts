import type { Campaign } from '../../domain/campaigns/resource.ts';
import { isoTimestamp } from '../../shared/async/clock.ts';
import { omitUndefined } from '../../shared/aggregate/omit-undefined.ts';
import { ApiError } from '../../shared/http/errors.ts';
import type { RequestContext } from '../../shared/http/route.ts';
import { derivedId } from '../../shared/aggregate/ids.ts';
import { lockCurrency } from '../advertisers/load.ts';
import type { CreateCampaignBody } from '../../domain/campaigns/input.ts';
import { createNewCampaign, loadCampaign, type CampaignStores } from './load.ts';

/**
 * Creates a campaign, and locks its advertiser's currency before: two streams, in this order. A change of the currency
 * and the lock meet in the advertiser's stream, where one of them is first: a change that is later is refused, and the
 * campaign takes the currency that the lock found, which no process can change any more. The other order would leave
 * a moment in which the campaign is there and the currency still changes. What a crash in between leaves is a lock
 * without a campaign, which a repeat with the same key completes.
 *
 * A repeat first looks whether the campaign is there: the advertiser may have been archived since.
 * @throws ApiError NOT_FOUND, CONFLICT (archived), VALIDATION_ERROR (other currency); then nothing has happened
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

/** An advertiser that is not there: a member of the body is at fault, and not the path. */
const namingTheAdvertiser = (error: unknown): never => {
  const isUnknown = error instanceof ApiError && error.body.code === 'NOT_FOUND';
  throw isUnknown ? new ApiError({ ...error.body, field: 'advertiserId' }) : error;
};
