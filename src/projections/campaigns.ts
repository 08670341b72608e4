import { campaignEvents } from '../domain/campaigns/campaign-events.ts';
import type { Campaign } from '../domain/campaigns/campaign-resource.ts';
import { CAMPAIGN, evolve, initialState, type CampaignState } from '../domain/campaigns/campaign.ts';
import { keptCounts, type Projection } from './engine/projection.ts';
import { applyFolded, type FoldedTable, type RowChange } from './folded-rows.ts';
import { addCounts, type CountChange } from './kept-counts.ts';

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

const counts = { table: 'campaign_counts', columns: ['phase'] };

/** The read model behind campaigns: tables `campaigns`, `campaign_counts`. */
export const campaignsProjection: Projection = {
  name: 'campaigns',
  categories: [CAMPAIGN],
  tables: [table.table, counts.table],
  compared: { [counts.table]: keptCounts },
  apply: async (client, events) => {
    const changes = await applyFolded(client, table, events);
    await addCounts(client, counts, changes.flatMap(counted));
  },
};

const counted = ({ before, after }: RowChange<Campaign>): readonly CountChange[] => {
  const of = (campaign: Campaign, change: number): readonly CountChange[] =>
    [0, campaign.advertiserId].map((advertiserId) => ({
      customerId: campaign.customerId,
      advertiserId,
      kind: [campaign.phase],
      change,
    }));
  return [...(before === undefined ? [] : of(before, -1)), ...of(after, 1)];
};
