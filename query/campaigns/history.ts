import { campaignIdOf, campaignResource, shownCampaignId } from '../../domain/campaigns/resource.ts';
import { campaignFold, campaignStream } from '../../domain/campaigns/campaign.ts';
import { auditedKind } from '../resources/audited-kind.ts';
import { byShownId, each, lastFirst, streamsByShownId } from '../resources/resource-paths.ts';
import { campaignList, campaignPlace, campaignRead } from './routes.ts';

export const campaignKind = auditedKind({
  ...campaignFold,
  resourceType: 'CAMPAIGN',
  noun: 'campaign',
  live: (state) => (state.phase === 'none' ? undefined : state),
  idOf: ({ campaignId }) => shownCampaignId(campaignId),
  streamsOf: streamsByShownId(campaignIdOf, campaignStream),
  audited: campaignResource,
  nameOf: ({ name }) => name,
  place: { ...campaignPlace, find: byShownId('id', campaignIdOf, campaignStream) },
  details: [{ route: campaignRead, shown: campaignResource }],
  lists: [
    {
      route: campaignList,
      owner: { resourceType: 'ADVERTISER', parameter: 'advertiserId', mustBeThere: false },
      narrower: 'Ask for those of one advertiser, with advertiserId.',
      shown: each(campaignResource),
      keeps: ({ phase }) => phase !== 'archived',
      order: lastFirst(
        ({ createdAt }) => createdAt,
        ({ campaignId }) => campaignId,
      ),
    },
  ],
});
