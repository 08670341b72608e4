import type { ProposalRequest } from '../../domain/proposals/proposal-request.ts';
import { proposalRequestFold } from '../../domain/proposals/proposal-request.ts';
import { proposalSummary, type ProposalRequestSummary } from '../../domain/proposals/resource.ts';
import { boundTo } from '../../shared/postgres/tenant-database.ts';
import {
  freshnessColumns,
  freshnessOfBothSql,
  type Freshness,
} from '../../shared/follow-log/written-position.ts';
import { consistentRead } from '../../shared/follow-log/consistent-read.ts';
import type { Page } from '../resources/list-page.ts';
import type { ResourceReads } from '../resources/resource-reads.ts';

export const proposalRows = {
  ...proposalRequestFold,
  readModel: 'proposals',
  table: 'proposal_requests',
} as const;

export interface ExecutionPage {
  readonly items: readonly ProposalRequestSummary[];
  readonly total: number;
}

interface ListRow extends Freshness {
  readonly known: boolean;
  readonly total: number;
  readonly items: string;
}

/**
 * Newest first.
 * @param campaignId UUID
 * @returns undefined if the campaign does not exist
 * @throws ReadModelBehindError
 */
export const listExecutions = async (
  { database, progress }: ResourceReads,
  customerId: number,
  campaignId: string,
  { skip, take }: Page,
): Promise<ExecutionPage | undefined> => {
  const { readModel, table } = proposalRows;
  const { known, total, items } = await consistentRead<ListRow>({
    pool: boundTo(database, customerId),
    projection: readModel,
    progress,
    query: {
      name: 'list-proposal-requests',
      text: `select ${freshnessColumns('f')}, page.items,
               exists (select from campaigns c where c.customer_id = $1 and c.id = $4) as known,
               coalesce((select c.count::int from proposal_request_counts c
                 where c.customer_id = $1 and c.campaign_id = $4), 0) as total
             from ${freshnessOfBothSql('$1', '$2', '$3')} f, lateral (
               select coalesce('[' || string_agg(p.body, ',' order by p.created_at desc, p.id desc) || ']', '[]') as items
               from (select r.body, r.created_at, r.id from ${table} r
                     where r.customer_id = $1 and r.campaign_id = $4
                     order by r.created_at desc, r.id desc limit $5 offset $6) p
             ) page`,
      values: [customerId, readModel, 'campaigns', campaignId, take, skip],
    },
  });
  if (!known) return undefined;
  const found = JSON.parse(items) as readonly ProposalRequest[];
  return { items: found.map(proposalSummary), total };
};
