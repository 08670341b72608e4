import { z } from 'zod';
import { campaignIdOf, campaignResource, shownCampaignId } from '../../domain/campaigns/campaign-resource.ts';
import { campaignAggregate, campaignStream } from '../../domain/campaigns/campaign.ts';
import { campaignList, campaignRead } from '../../query/campaigns/routes.ts';
import { auditedKind } from '../../query/history/audited-kind.ts';
import { pathTextId } from '../../shared/http/schemas.ts';
import { buyer, byShownId, each, lastFirst, streamsByShownId } from './places.ts';

export const campaignKind = auditedKind({
  ...campaignAggregate,
  resourceType: 'CAMPAIGN',
  noun: 'campaign',
  live: (state) => (state.phase === 'none' ? undefined : state),
  idOf: ({ campaignId }) => shownCampaignId(campaignId),
  streamsOf: streamsByShownId(campaignIdOf, campaignStream),
  audited: campaignResource,
  nameOf: ({ name }) => name,
  place: {
    path: `${buyer}/campaigns/{id}`,
    params: z.object({ id: pathTextId('campaign') }),
    tag: 'Campaigns',
    find: byShownId('id', campaignIdOf, campaignStream),
  },
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
