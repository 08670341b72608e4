import type { Campaign, CampaignPhase } from '../../domain/campaigns/campaign-resource.ts';
import { boundTo, type TenantDatabase } from '../../shared/postgres/tenant-database.ts';
import {
  freshnessColumns,
  freshnessSql,
  keptMark,
  type Freshness,
} from '../../shared/read-your-writes/account-mark.ts';
import { consistentRead } from '../../shared/read-your-writes/consistent-read.ts';
import type { ProjectionProgress } from '../../shared/read-your-writes/projection-progress.ts';
import { NO_UUID, pageKeysSql } from '../resources/page-keys.ts';

export interface CampaignReads {
  readonly database: TenantDatabase;
  readonly progress: ProjectionProgress;
}

export interface CampaignFilters {
  readonly advertiserId?: number | undefined;
  /** Default: all but the archived ones. */
  readonly phase?: CampaignPhase | undefined;
}

export const CAMPAIGNS = 'campaigns';

interface ListRow extends Freshness {
  readonly items: string;
  readonly total: number;
}

/** The list query in its variants: one prepared statement for each set of filters, so that each gets its index. */
const listCampaignsQuery = (
  customerId: number,
  { advertiserId, phase }: CampaignFilters,
  { skip, take }: { readonly skip: number; readonly take: number },
) => {
  const values: unknown[] = [customerId, CAMPAIGNS, take, skip];
  const parameter = (value: unknown): string => `$${values.push(value)}`;
  const conditions = ['customer_id = $1'];
  const advertiser = advertiserId === undefined ? '0' : parameter(advertiserId);
  if (advertiserId !== undefined) conditions.push(`advertiser_id = ${advertiser}`);
  const counted = ['customer_id = $1', `advertiser_id = ${advertiser}`];
  let kind = `'live'`;
  if (phase === undefined) {
    conditions.push('not archived');
    counted.push(`phase <> 'archived'`);
  } else {
    kind = parameter(phase);
    conditions.push(`phase = ${kind}`);
    counted.push(`phase = ${kind}`);
  }
  const page = pageKeysSql({
    table: CAMPAIGNS,
    where: conditions.join(' and '),
    take: '$3',
    skip: '$4',
    total: 'counted.total',
    blocks: {
      table: advertiserId === undefined ? 'campaign_blocks' : 'advertiser_campaign_blocks',
      advertiserId: advertiser,
      kind,
      projection: '$2',
      noId: NO_UUID,
    },
  });
  return {
    name: `list-campaigns${advertiserId === undefined ? '' : '-advertiser'}${phase === undefined ? '' : '-phase'}`,
    text: `
      with counted as materialized (
        select coalesce(sum(count), 0)::float8 as total from campaign_counts where ${counted.join(' and ')})
      select ${freshnessColumns('f')}, counted.total, page.items
      from ${freshnessSql('$1', '$2')} f, counted, lateral (
        select coalesce('[' || string_agg(c.body, ',' order by c.created_at desc, c.id desc) || ']', '[]') as items
        from (${page}) keys
        join campaigns c on c.customer_id = $1 and c.id = keys.id
      ) page`,
    values,
  };
};

export interface CampaignPage {
  readonly campaigns: readonly Campaign[];
  readonly total: number;
  /** To be kept with it; undefined: not to be kept. */
  readonly mark: string | undefined;
}

/**
 * One page, newest first. Totals are kept by the projection.
 * @throws ReadModelBehindError
 */
export const listCampaigns = async (
  { database, progress }: CampaignReads,
  customerId: number,
  filters: CampaignFilters,
  page: { readonly skip: number; readonly take: number },
): Promise<CampaignPage> => {
  const query = listCampaignsQuery(customerId, filters, page);
  const pool = boundTo(database, customerId);
  const row = await consistentRead<ListRow>({ pool, projection: CAMPAIGNS, query, progress });
  return { campaigns: JSON.parse(row.items) as readonly Campaign[], total: row.total, mark: keptMark(row) };
};
