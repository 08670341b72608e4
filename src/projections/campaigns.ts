import { campaignEvents } from '../domain/campaigns/campaign-events.ts';
import type { Campaign } from '../domain/campaigns/campaign-resource.ts';
import { CAMPAIGN, evolve, initialState, type CampaignState } from '../domain/campaigns/campaign.ts';
import { countInBlocks } from './engine/blocks/count-in-blocks.ts';
import type { ListBlocks } from './engine/blocks/list-blocks.ts';
import { keptCounts, type Projection } from './engine/projection.ts';
import { applyFolded, countedChanges, type FoldedTable } from './folded-rows.ts';
import { addCounts } from './kept-counts.ts';

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

/** Each phase is a kind, and so is what is not archived. */
const inBlocks = {
  rows: table.table,
  at: 'created_at',
  idType: 'uuid',
  kinds: `case when r.archived then array[r.phase] else array[r.phase, 'live'] end`,
} as const;

/** Of accounts' lists and of advertisers'. */
const campaignBlocks: readonly [ListBlocks, ListBlocks] = [
  { ...inBlocks, table: 'campaign_blocks', lists: 'account' },
  { ...inBlocks, table: 'advertiser_campaign_blocks', lists: 'advertiser' },
];

/** The read model behind campaigns: tables `campaigns`, `campaign_counts`, and the blocks of both lists. */
export const campaignsProjection: Projection = {
  name: 'campaigns',
  categories: [CAMPAIGN],
  tables: [table.table, counts.table, ...campaignBlocks.map((blocks) => blocks.table)],
  compared: { [counts.table]: keptCounts },
  blocks: campaignBlocks,
  apply: async (client, events) => {
    const changes = await applyFolded(client, table, events);
    const [ofAccount, ofAdvertiser] = campaignBlocks;
    await addCounts(
      client,
      counts,
      countedChanges(changes, (campaign) => [counted(campaign, 0), counted(campaign, campaign.advertiserId)]),
    );
    await countInBlocks(
      client,
      ofAccount,
      countedChanges(changes, (campaign) => [placed(campaign, 0)]),
    );
    await countInBlocks(
      client,
      ofAdvertiser,
      countedChanges(changes, (campaign) => [placed(campaign, campaign.advertiserId)]),
    );
  },
};

/** @param advertiserId 0: in the account's count */
const counted = ({ customerId, phase }: Campaign, advertiserId: number) => ({
  customerId,
  advertiserId,
  kind: [phase],
});

/** @param advertiserId 0: in the account's list */
const placed = ({ customerId, campaignId, createdAt, phase }: Campaign, advertiserId: number) => ({
  customerId,
  advertiserId,
  at: createdAt,
  id: campaignId,
  kinds: phase === 'archived' ? [phase] : [phase, 'live'],
});
