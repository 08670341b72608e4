import { campaignEvents } from '../domain/campaigns/campaign-events.ts';
import type { Campaign } from '../domain/campaigns/campaign-resource.ts';
import { CAMPAIGN, evolve, initialState, type CampaignState } from '../domain/campaigns/campaign.ts';
import { keptCounts, type Projection } from './engine/projection.ts';
import { applyFolded, type FoldedTable } from './folded-rows.ts';
import { addCounts, countedBy, type CountTable } from './kept-counts.ts';

const table: FoldedTable<CampaignState, Campaign> = {
  table: 'campaigns',
  category: CAMPAIGN,
  events: campaignEvents,
  initialState,
  evolve,
  live: (state) => (state.phase === 'none' ? undefined : state),
  place: ({ customerId, campaignId }) => ({ customerId, id: campaignId }),
  columns: [
    { name: 'advertiser_id', type: 'int4', value: ({ advertiserId }) => advertiserId, isFixed: true },
    { name: 'phase', type: 'text', value: ({ phase }) => phase },
    { name: 'archived', type: 'boolean', value: ({ phase }) => phase === 'archived' },
    { name: 'ends_at', type: 'timestamptz', value: ({ flight }) => flight?.endAt ?? 'infinity' },
    { name: 'created_at', type: 'timestamptz', value: ({ createdAt }) => createdAt, isFixed: true },
  ],
};

/** Each campaign counts for its advertiser, and under advertiser 0 for the account. */
const counts: CountTable<Campaign> = {
  table: 'campaign_counts',
  columns: countedBy(table, 'advertiser_id', 'phase', 'archived'),
  counted: (campaign) => [campaign, { ...campaign, advertiserId: 0 }],
};

/** The read model behind campaigns: tables `campaigns`, `campaign_counts`. */
export const campaignsProjection: Projection = {
  name: 'campaigns',
  categories: [CAMPAIGN],
  tables: [table.table, counts.table],
  compared: { [counts.table]: keptCounts },
  apply: async (client, events) => {
    await addCounts(client, counts, await applyFolded(client, table, events));
  },
};
