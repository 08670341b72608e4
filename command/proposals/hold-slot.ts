import { proposalSlotAggregate } from '../../domain/proposals/proposal-slot.ts';
import { shownCampaignId } from '../../domain/campaigns/resource.ts';
import { shownExecutionId } from '../../domain/proposals/resource.ts';
import { ApiError } from '../../shared/http/errors.ts';
import { slotsOf } from '../slots/hold-slot.ts';
import { loadExecution } from './handler.ts';

/** How long the worker may take to record the end of an execution. After that, its account may start another. */
const CLOSING_MS = 60_000;

/**
 * An execution frees its slot by its end, or by its deadline when no worker records the end.
 * @throws ApiError CONFLICT while another execution of the account runs
 */
export const { hold: holdProposalSlot } = slotsOf(proposalSlotAggregate, {
  stateOf: async (writes, customerId, executionId) => {
    const found = await loadExecution(writes, customerId, executionId);
    if (found === undefined) return 'missing';
    const isOver = writes.clock.now() > Date.parse(found.deadlineAt) + CLOSING_MS;
    return found.status !== 'running' || isOver ? 'over' : 'holds';
  },
  allTaken: async ([executionId = ''], writes, customerId) => {
    const campaignId = (await loadExecution(writes, customerId, executionId))?.campaignId;
    return new ApiError({
      code: 'CONFLICT',
      message:
        'Another proposal request of the account is running. Wait for its end, then repeat; its ids are in details.',
      details: {
        executionId: shownExecutionId(executionId),
        ...(campaignId !== undefined && { campaignId: shownCampaignId(campaignId) }),
      },
    });
  },
});
