import { isOpen } from '../../domain/campaigns/campaign.ts';
import { campaignIdOf, type Campaign } from '../../domain/campaigns/resource.ts';
import { creativeAggregate, type CreativeRefusal } from '../../domain/creatives/creative.ts';
import { creativeIdOf, type Creative } from '../../domain/creatives/resource.ts';
import { handlerFor } from '../../shared/aggregate/handler-for.ts';
import { ApiError, NotDoneError, notFound, staleRevision } from '../../shared/http/errors.ts';
import { advertiserRefused, loadAdvertiser, writableAdvertiser } from '../advertisers/handler.ts';
import { campaignRefused, loadCampaign, type CampaignStores } from '../campaigns/handler.ts';

export type CreativeWrites = CampaignStores;

const creativeRefused = (refusal: CreativeRefusal): ApiError => {
  switch (refusal.reason) {
    case 'not-found':
    case 'not-in-campaign':
      return notFound('creative');
    case 'already-exists':
      return new ApiError({ code: 'CONFLICT', message: 'This creative exists already. Read it instead.' });
    case 'archived':
      return new ApiError({
        code: 'CONFLICT',
        message: 'The creative is archived. Duplicate it and change the copy.',
      });
    case 'not-ready':
      return notReady(refusal.missing);
    case 'not-submitted':
      return notFound("seller's review of the creative");
    case 'wrong-review':
      return new ApiError({
        code: 'CONFLICT',
        message: `The review is at ${refusal.status}. ${nextOf(refusal.wanted)}`,
        field: 'status',
        details: { status: refusal.status, wanted: refusal.wanted },
      });
    case 'advertiser-archived':
      return advertiserRefused({ reason: 'archived' });
    case 'too-many-campaigns':
      return new ApiError({
        code: 'CONFLICT',
        message: `The creative is in ${refusal.limit} campaigns, which is the limit. Detach it from one first.`,
        details: { limit: refusal.limit },
      });
    case 'name-not-held':
      return new NotDoneError(
        'Other requests are changing the creative. Repeat the request after Retry-After.',
      );
    case 'stale':
      return staleRevision('creative', refusal.expectedRevision, refusal.currentRevision);
    case 'unchangeable':
      return new ApiError({
        code: 'VALIDATION_ERROR',
        message: `${refusal.member} cannot be changed to this value. Leave it out, or send its current value.`,
        field: refusal.member,
      });
    default:
      return refusal satisfies never;
  }
};

const notReady = (missing: readonly string[]): ApiError =>
  new ApiError({
    code: 'CONFLICT',
    message:
      missing.length === 0
        ? 'The creative is a copy, which stays a draft until its content changes. Change its content first.'
        : `The creative is a draft. Its format also needs ${missing.join(', and ')}. Add it first.`,
    details: { missing },
  });

const nextOf = (wanted: readonly string[]): string =>
  wanted.length === 0
    ? 'Submit the creative to the seller again first.'
    : `From there it can become ${wanted.join(', ')}.`;

export const {
  run: runOnCreative,
  create: createCreative,
  execute: executeOnCreative,
  resultOf: creativeOf,
  load: loadCreative,
  doneBefore: creativeDoneBefore,
} = handlerFor(creativeAggregate, creativeRefused);

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
 * Closing it concurrently equals closing it right afterwards: nothing in a creative depends on the order.
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
