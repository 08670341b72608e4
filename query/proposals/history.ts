import { campaignIdOf } from '../../domain/campaigns/resource.ts';
import { proposalRequestFold, proposalRequestStream } from '../../domain/proposals/proposal-request.ts';
import {
  countProducts,
  executionIdOf,
  proposalResource,
  proposalSummary,
  shownExecutionId,
} from '../../domain/proposals/resource.ts';
import { auditedKind } from '../resources/audited-kind.ts';
import {
  byShownId,
  each,
  lastFirst,
  listedOfCampaign,
  streamsByShownId,
} from '../resources/resource-paths.ts';
import { pastPage, proposalList, proposalPlace, proposalRead } from './routes.ts';

export const proposalRequestKind = auditedKind({
  ...proposalRequestFold,
  resourceType: 'PROPOSAL_REQUEST',
  noun: 'proposal request',
  live: (state) => (state.status === 'none' ? undefined : state),
  idOf: ({ executionId }) => shownExecutionId(executionId),
  streamsOf: streamsByShownId(executionIdOf, proposalRequestStream),
  audited: (execution) => proposalResource(execution, { skip: 0, limit: countProducts(execution) }),
  place: {
    ...proposalPlace,
    find: byShownId('executionId', executionIdOf, proposalRequestStream),
    isAt: ({ campaignId }, { id }) => campaignId === campaignIdOf(String(id)),
  },
  details: [
    {
      route: proposalRead,
      shown: (execution, { id, limit, cursor }) =>
        execution.campaignId === campaignIdOf(String(id))
          ? pastPage(execution, { limit, cursor } as Parameters<typeof pastPage>[1])
          : undefined,
    },
  ],
  lists: [
    {
      route: proposalList,
      owner: listedOfCampaign,
      shown: each(proposalSummary),
      keeps: ({ campaignId }, { id }) => campaignId === campaignIdOf(String(id)),
      order: lastFirst(
        ({ startedAt }) => startedAt,
        ({ executionId }) => executionId,
      ),
    },
  ],
});
