import {
  proposalRequestFold,
  type ProposalRequest,
  type ProposalRequestState,
} from '../domain/proposals/proposal-request.ts';
import { PROPOSAL_END, PROPOSAL_SELLER, sellerEntryName } from '../domain/proposals/work.ts';
import { derivedId } from '../shared/aggregate/ids.ts';
import { requestWork } from '../shared/work-list/request-work.ts';
import { addCounts, countedBy, type CountTable } from './count-rows.ts';
import { nonZeroCounts, type Projection } from './engine/projection.ts';
import { applyFolded, type FoldedTable } from './folded-rows.ts';

const table: FoldedTable<ProposalRequestState, ProposalRequest> = {
  ...proposalRequestFold,
  table: 'proposal_requests',
  live: (state) => (state.status === 'none' ? undefined : state),
  place: ({ customerId, executionId }) => ({ customerId, id: executionId }),
  columns: [
    { name: 'campaign_id', type: 'uuid', value: ({ campaignId }) => campaignId, isFixed: true },
    { name: 'created_at', type: 'timestamptz', value: ({ startedAt }) => startedAt, isFixed: true },
  ],
};

const counts: CountTable<ProposalRequest> = {
  table: 'proposal_request_counts',
  columns: countedBy(table, 'campaign_id'),
};

/** An execution lists its sellers, all at once, and its end. */
export const proposalsProjection: Projection = {
  name: 'proposals',
  categories: [table.category],
  tables: [table.table, counts.table],
  compared: { [counts.table]: nonZeroCounts },
  work: [PROPOSAL_SELLER, PROPOSAL_END],
  apply: async (client, events, purpose) => {
    const changes = await applyFolded(client, table, events);
    await addCounts(client, counts, changes);
    if (purpose === 'rows') return;
    const begun = changes.filter(({ before }) => before === undefined).map(({ after }) => after);
    await requestWork(client, PROPOSAL_SELLER, begun.flatMap(sellersOf));
    await requestWork(
      client,
      PROPOSAL_END,
      begun.map(({ customerId, executionId, deadlineAt }) => ({
        customerId,
        key: executionId,
        revision: 0,
        dueAt: deadlineAt,
      })),
    );
  },
};

const sellersOf = ({ customerId, executionId, sellers }: ProposalRequest) =>
  sellers
    .filter(({ failure }) => failure?.kind !== 'skipped')
    .map(({ sellerId }) => ({
      customerId,
      key: derivedId(executionId, sellerEntryName(sellerId)),
      revision: 0,
      data: { executionId, sellerId },
    }));
