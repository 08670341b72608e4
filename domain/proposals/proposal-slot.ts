import { z } from 'zod';
import type { EventsOf } from '../decision.ts';
import { slotRules, type Slot } from '../slots/slots.ts';

const SlotOfExecution = z.object({ executionId: z.uuid(), claimId: z.uuid() });

const proposalSlotEvents = {
  ProposalSlotClaimed: { schemaVersion: 1, data: SlotOfExecution },
  ProposalSlotReleased: { schemaVersion: 1, data: SlotOfExecution },
} as const;

type ProposalSlotEvent = EventsOf<typeof proposalSlotEvents>;

const PROPOSAL_SLOT = 'proposalSlot';

const proposalSlotStream = (customerId: number): string => `${PROPOSAL_SLOT}-${customerId}`;

const dataOf = ({ holderId, claimId }: Slot) => ({ executionId: holderId, claimId });

/** An account has one running execution at most. */
export const proposalSlotAggregate = {
  category: PROPOSAL_SLOT,
  stream: proposalSlotStream,
  events: proposalSlotEvents,
  ...slotRules<ProposalSlotEvent>({
    slotsMax: 1,
    claimed: (slot) => ({ type: 'ProposalSlotClaimed', data: dataOf(slot) }),
    released: (slot) => ({ type: 'ProposalSlotReleased', data: dataOf(slot) }),
    read: ({ type, data: { executionId, claimId } }) => ({
      is: type === 'ProposalSlotClaimed' ? 'claimed' : 'released',
      holderId: executionId,
      claimId,
    }),
  }),
};
