import { submissionName } from '../../domain/creatives/work.ts';
import { derivedId } from '../../shared/aggregate/ids.ts';
import { CAMPAIGN } from '../../domain/campaigns/campaign.ts';
import { categoryOf } from '../../shared/event-store/event-store.ts';
import { z } from 'zod';
import { assetIdOf, assetResource, type Asset } from '../../domain/assets/resource.ts';
import { assetStream } from '../../domain/assets/asset.ts';
import { campaignIdOf, shownCampaignId, type Campaign } from '../../domain/campaigns/resource.ts';
import { campaignStream } from '../../domain/campaigns/campaign.ts';
import { creativeDetail } from '../../domain/creatives/creative-detail.ts';
import {
  assetIdsOf,
  creativeIdOf,
  creativeResource,
  shownCreativeId,
  type Creative,
} from '../../domain/creatives/resource.ts';
import { creativeFold, creativeStream } from '../../domain/creatives/creative.ts';
import { sellerDirectoryStream } from '../../domain/sellers/seller-directory.ts';
import type { SellerDirectory } from '../../domain/sellers/resource.ts';
import {
  advertiserCreativeList,
  campaignCreativeList,
  campaignCreativeRead,
  creativeDetailRead,
} from './routes.ts';
import { auditedKind, type AuditedKind, type ListRead, type Moment } from '../resources/audited-kind.ts';
import { pathTextId } from '../../shared/http/schemas.ts';
import { isInLibrary } from '../assets/history.ts';
import { campaignKind } from '../campaigns/history.ts';
import {
  buyer,
  byShownId,
  each,
  lastFirst,
  listedOfAdvertiser,
  listedOfCampaign,
  streamsByShownId,
} from '../resources/resource-paths.ts';
import { sellersKind } from '../sellers/history.ts';

const detailThen = async (creative: Creative, assets: AuditedKind, baseUrl: string, then: Moment) => {
  const { customerId, statesOf } = then;
  const campaigns = await statesOf(
    campaignKind,
    creative.campaignIds.map((id) => campaignStream(customerId, id)),
  );
  const used = await statesOf(
    assets,
    assetIdsOf(creative).flatMap((shown) => {
      const id = assetIdOf(shown);
      return id === undefined ? [] : [assetStream(customerId, id)];
    }),
  );
  const [sellers] = await statesOf(sellersKind, [sellerDirectoryStream]);
  return creativeDetail({
    creative,
    campaigns: (campaigns as readonly (Campaign | { phase: 'none' })[]).filter((one) => one.phase !== 'none'),
    assets: (used as readonly Asset[]).filter(isInLibrary).map((asset) => assetResource(asset, baseUrl)),
    sellers: sellers as SellerDirectory,
  });
};

const newestFirst = lastFirst<Creative>(
  ({ createdAt }) => createdAt,
  ({ creativeId }) => creativeId,
);

const lists: readonly ListRead<Creative>[] = [
  {
    route: campaignCreativeList,
    owner: listedOfCampaign,
    shown: each(creativeResource),
    keeps: ({ state, campaignIds }, { id }) =>
      state !== 'archived' && campaignIds.includes(campaignIdOf(String(id)) ?? ''),
    order: newestFirst,
  },
  {
    route: advertiserCreativeList,
    owner: listedOfAdvertiser,
    narrower: 'Ask for those of one campaign.',
    shown: each(creativeResource),
    keeps: ({ state }) => state !== 'archived',
    order: newestFirst,
  },
];

export const creativeKind = (assets: AuditedKind, baseUrl: () => string): AuditedKind =>
  auditedKind({
    ...creativeFold,
    resourceType: 'CREATIVE',
    noun: 'creative',
    live: (state) => (state.state === 'none' ? undefined : state),
    idOf: ({ creativeId }) => shownCreativeId(creativeId),
    streamsOf: streamsByShownId(creativeIdOf, creativeStream),
    audited: (creative) => ({
      ...creativeResource(creative),
      source: creative.source,
      formatOptionId: creative.formatOptionId,
      campaignIds: creative.campaignIds.map(shownCampaignId),
      reviews: Object.fromEntries(
        (creative.reviews ?? []).map(({ sellerId, since: _since, ...review }) => [sellerId, review]),
      ),
    }),
    nameOf: ({ name }) => name,
    causes: {
      isCause: (cause, { stream, causationId }) => {
        const mayBe = cause.stream === stream || categoryOf(cause.stream) === CAMPAIGN;
        // Its name ends with the UUID of the creative.
        return mayBe && derivedId(stream.slice(-36), submissionName(cause.position)) === causationId;
      },
    },
    place: {
      path: `${buyer}/creatives/{cid}`,
      params: z.object({ cid: pathTextId('creative') }),
      tag: 'Creatives',
      find: byShownId('cid', creativeIdOf, creativeStream),
    },
    details: [
      {
        route: campaignCreativeRead,
        shown: (creative, { id }) =>
          creative.campaignIds.includes(campaignIdOf(String(id)) ?? '')
            ? creativeResource(creative)
            : undefined,
      },
      {
        route: creativeDetailRead,
        shown: (creative, _asked, then) => detailThen(creative, assets, baseUrl(), then),
      },
    ],
    lists,
  });
