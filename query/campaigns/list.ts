import {
  campaignResource,
  type Campaign,
  type CampaignPhase,
  type CampaignResource,
} from '../../domain/campaigns/resource.ts';
import { equal, listPage, type Filter, type List, type Page } from '../resources/list-page.ts';
import type { ResourceReads } from '../resources/resource-reads.ts';

export interface CampaignFilters {
  readonly advertiserId?: number | undefined;
  readonly phase?: CampaignPhase | undefined;
}

const campaigns: List = {
  readModel: 'campaigns',
  table: 'campaigns',
  at: 'created_at',
  counts: 'campaign_counts',
};

/** Counts of the whole account are stored under advertiser 0. */
const ofAccount: Filter = {
  name: 'of-account',
  rows: (query) => query,
  counts: (query) => query.whereRaw('advertiser_id = 0'),
};

export interface CampaignPage {
  readonly items: readonly CampaignResource[];
  readonly total: number;
}

export const listCampaigns = async (
  reads: ResourceReads,
  customerId: number,
  { advertiserId, phase }: CampaignFilters,
  page: Page,
): Promise<CampaignPage> => {
  const filters = [
    ...(advertiserId === undefined ? [ofAccount] : equal('advertiser_id', advertiserId)),
    ...(phase === undefined ? equal('archived', false) : equal('phase', phase)),
  ];
  const { items, total } = await listPage(reads, campaigns, { customerId }, filters, page);
  return { items: (JSON.parse(items) as readonly Campaign[]).map(campaignResource), total };
};
