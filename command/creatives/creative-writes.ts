import { campaignIdOf, type Campaign } from '../../domain/campaigns/resource.ts';
import { isOpen } from '../../domain/campaigns/campaign.ts';
import { creativeIdOf, type Creative } from '../../domain/creatives/resource.ts';
import { notFound } from '../../shared/http/errors.ts';
import { loadAdvertiser, writableAdvertiser } from '../advertisers/load.ts';
import { campaignRefused } from '../campaigns/load.ts';
import { loadCampaign, type CampaignStores } from '../campaigns/load.ts';
import { loadCreative } from './load.ts';

export type CreativeWrites = CampaignStores;

/** @throws ApiError NOT_FOUND */
export const findCampaign = async (
  stores: CampaignStores,
  customerId: number,
  shownId: string,
): Promise<Campaign> => {
  const campaignId = campaignIdOf(shownId);
  const campaign = campaignId === undefined ? undefined : await loadCampaign(stores, customerId, campaignId);
  if (campaign === undefined) throw notFound('campaign');
  return campaign;
};

/**
 * A campaign that accepts creatives. It may be closed concurrently; that equals closing it right afterwards, because
 * nothing in a creative depends on the order.
 * @throws ApiError NOT_FOUND, CONFLICT (closed, advertiser archived)
 */
export const openCampaign = async (
  stores: CampaignStores,
  customerId: number,
  shownId: string,
): Promise<Campaign> => {
  const campaign = await findCampaign(stores, customerId, shownId);
  await writableAdvertiser(stores, customerId, campaign.advertiserId);
  if (!isOpen(campaign)) {
    throw campaignRefused({
      reason: 'wrong-phase',
      phase: campaign.phase,
      wanted: ['draft', 'active', 'paused'],
    });
  }
  return campaign;
};

/** @throws ApiError NOT_FOUND */
export const findCreative = async (
  stores: CampaignStores,
  customerId: number,
  shownId: string,
  isWanted: (creative: Creative) => boolean,
): Promise<Creative> => {
  const creativeId = creativeIdOf(shownId);
  const creative = creativeId === undefined ? undefined : await loadCreative(stores, customerId, creativeId);
  if (creative === undefined || !isWanted(creative)) throw notFound('creative');
  return creative;
};

export const isAdvertiserArchived = async (
  stores: CampaignStores,
  { customerId, advertiserId }: Creative,
): Promise<boolean> => (await loadAdvertiser(stores, customerId, advertiserId))?.status !== 'ACTIVE';
