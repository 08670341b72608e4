import type { AdvertiserResource } from '../../domain/advertisers/resource.ts';
import { shownCampaignId, type Campaign } from '../../domain/campaigns/resource.ts';
import type { ProposalsRequested } from '../../domain/proposals/events.ts';
import type { RequestProposalsBody } from '../../domain/proposals/input.ts';
import type { ProposalRequest } from '../../domain/proposals/proposal-request.ts';
import { SELLERS_MAX } from '../../domain/proposals/resource.ts';
import { sellsIn, type Seller } from '../../domain/sellers/resource.ts';
import { derivedId } from '../../shared/aggregate/ids.ts';
import { isoTimestamp } from '../../shared/async/clock.ts';
import { ApiError, conflict } from '../../shared/http/errors.ts';
import type { RequestContext } from '../../shared/http/route.ts';
import { writableAdvertiser } from '../advertisers/handler.ts';
import { campaignRefused, loadCampaign, type CampaignStores } from '../campaigns/handler.ts';
import { loadDirectory, noSeller } from '../sellers/handler.ts';
import { createExecution, executionDoneBefore } from './handler.ts';
import { holdProposalSlot } from './hold-slot.ts';

export interface ProposalWrites extends CampaignStores {
  /** How long each seller may take, ms. */
  readonly sellerMs: number;
  /** Host name of the exchange, by which sellers know it. */
  readonly operator: () => string;
}

/** The execution that an idempotency key names: the same for every run of the command. */
const executionOfCommand = (commandId: string): string => derivedId(commandId, 'proposal-request');

type AskedSellers = ProposalsRequested['sellers'];

/** A request that was checked and not yet made. */
export interface PlannedRequest {
  readonly campaign: Campaign;
  readonly advertiser: AdvertiserResource;
  readonly sellers: AskedSellers;
  /** It goes to sellers that the caller has not named. */
  readonly isBroadcast: boolean;
}

/**
 * The execution of an earlier run of the same command, or what a first run would do.
 * @throws ApiError NOT_FOUND (campaign, seller), CONFLICT (stale revision, campaign over, no seller to ask)
 */
export const planRequest = async (
  stores: ProposalWrites,
  campaignId: string,
  { sellerIds, expectedCampaignRevision }: RequestProposalsBody,
  request: RequestContext,
): Promise<PlannedRequest | { readonly done: ProposalRequest }> => {
  const { customerId } = request.principal;
  const done = await executionDoneBefore(stores, executionOfCommand(request.commandId), request);
  if (done !== undefined) return { done };
  const campaign = await loadCampaign(stores, customerId, campaignId);
  if (campaign === undefined) throw campaignRefused({ reason: 'not-found' });
  const { phase, revision, advertiserId } = campaign;
  if (expectedCampaignRevision !== undefined && expectedCampaignRevision !== revision) {
    throw staleCampaign(expectedCampaignRevision, revision);
  }
  if (phase === 'completed' || phase === 'archived') {
    throw campaignRefused({ reason: 'wrong-phase', phase, wanted: ['draft', 'active', 'paused'] });
  }
  const advertiser = await writableAdvertiser(stores, customerId, advertiserId);
  const directory = await loadDirectory(stores);
  const sellers =
    sellerIds === undefined ? eligible(directory, advertiser) : named(directory, advertiser, sellerIds);
  return { campaign, advertiser, sellers, isBroadcast: sellerIds === undefined };
};

/** @throws ApiError CONFLICT while another execution of the account runs */
export const requestProposals = async (
  stores: ProposalWrites,
  { campaign, advertiser, sellers }: PlannedRequest,
  request: RequestContext,
): Promise<ProposalRequest> => {
  const executionId = executionOfCommand(request.commandId);
  await holdProposalSlot(stores, executionId, request);
  const nowMs = stores.clock.now();
  const { brandDomain } = advertiser;
  const requested: ProposalsRequested = {
    executionId,
    customerId: request.principal.customerId,
    advertiserId: campaign.advertiserId,
    campaignId: campaign.campaignId,
    campaignRevision: campaign.revision,
    request: {
      brief: briefOf(campaign),
      ...(brandDomain !== undefined && { account: { brandDomain, operator: stores.operator() } }),
      buyerRef: derivedId(executionId, `buyer-ref:${campaign.campaignId}`),
    },
    deadlineAt: isoTimestamp(nowMs + stores.sellerMs),
    sellers,
  };
  const command = { type: 'RequestProposals', now: isoTimestamp(nowMs), requested } as const;
  return createExecution(stores, executionId, command, request);
};

const staleCampaign = (expectedCampaignRevision: number, currentRevision: number): ApiError =>
  new ApiError({
    code: 'CONFLICT',
    message: 'The campaign has changed since that revision. Read it again, then repeat the request.',
    field: 'expectedCampaignRevision',
    details: { expectedCampaignRevision, currentRevision },
  });

const canBeAsked = (seller: Seller, { channels }: AdvertiserResource): boolean =>
  seller.agent !== undefined && sellsIn(seller, channels);

const eligible = (directory: readonly Seller[], advertiser: AdvertiserResource): AskedSellers => {
  const sellers = directory
    .filter((seller) => canBeAsked(seller, advertiser))
    .map(({ sellerId, name }) => ({ sellerId, name }));
  if (sellers.length === 0) {
    throw conflict("No seller can be asked: none with an agent sells in the advertiser's channels.");
  }
  if (sellers.length <= SELLERS_MAX) return sellers;
  throw new ApiError({
    code: 'CONFLICT',
    message: `${sellers.length} sellers could be asked, and at most ${SELLERS_MAX} at once. Name them in sellerIds.`,
    field: 'sellerIds',
    details: { limit: SELLERS_MAX, eligible: sellers.length },
  });
};

const named = (
  directory: readonly Seller[],
  advertiser: AdvertiserResource,
  sellerIds: readonly number[],
): AskedSellers =>
  sellerIds.map((id, index) => {
    const seller = directory.find(({ sellerId }) => sellerId === id);
    if (seller === undefined) throw noSeller(`sellerIds.${index}`);
    const { sellerId, name } = seller;
    return canBeAsked(seller, advertiser) ? { sellerId, name } : { sellerId, name, skipped: skipped(seller) };
  });

const skipped = ({ retired, agent }: Seller) => ({
  code: 'NOT_ELIGIBLE',
  message: retired
    ? 'The seller is retired.'
    : agent === undefined
      ? 'The seller has no agent that could be asked.'
      : "The seller sells in none of the advertiser's channels.",
});

/** AdCP requires one. */
const briefOf = ({ brief, name, flight, budget }: Campaign): string => {
  if (brief !== undefined && brief !== '') return brief;
  return [
    `Campaign: ${name}.`,
    ...(flight === undefined ? [] : [`Flight: ${flight.startAt} to ${flight.endAt}.`]),
    ...(budget === undefined ? [] : [`Budget: ${budget.total} ${budget.currency}.`]),
  ].join(' ');
};

/** For people: what a confirmation confirms. */
export const summaryOf = ({ campaign, sellers }: PlannedRequest): string =>
  `Asks ${sellers.length} sellers for proposals for the campaign "${campaign.name}" (${shownCampaignId(campaign.campaignId)}). They receive its brief.`;
