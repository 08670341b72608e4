import { campaignFold } from '../domain/campaigns/campaign.ts';
import { foldedReadModel } from './folded-read-model.ts';

export const campaignsProjection = foldedReadModel({
  ...campaignFold,
  name: 'campaigns',
  table: 'campaigns',
  live: (state) => (state.phase === 'none' ? undefined : state),
  place: ({ customerId, campaignId }) => ({ customerId, id: campaignId }),
  columns: [
    { name: 'advertiser_id', type: 'int4', value: ({ advertiserId }) => advertiserId, isFixed: true },
    { name: 'phase', type: 'text', value: ({ phase }) => phase },
    { name: 'archived', type: 'boolean', value: ({ phase }) => phase === 'archived' },
    { name: 'ends_at', type: 'timestamptz', value: ({ flight }) => flight?.endAt ?? 'infinity' },
    { name: 'created_at', type: 'timestamptz', value: ({ createdAt }) => createdAt, isFixed: true },
  ],
  counts: {
    table: 'campaign_counts',
    by: ['advertiser_id', 'phase', 'archived'],
    // Each campaign counts for its advertiser, and under advertiser 0 for the account.
    counted: (campaign) => [campaign, { ...campaign, advertiserId: 0 }],
  },
});
