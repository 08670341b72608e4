import { z } from 'zod';
import type { EventsOf } from '../decision.ts';
import { slotRules, type Slot } from '../slots/slots.ts';

const SlotOfSubscription = z.object({ subscriptionId: z.uuid(), claimId: z.uuid() });

const webhookSlotEvents = {
  WebhookSlotClaimed: { schemaVersion: 1, data: SlotOfSubscription },
  WebhookSlotReleased: { schemaVersion: 1, data: SlotOfSubscription },
} as const;

type WebhookSlotEvent = EventsOf<typeof webhookSlotEvents>;

const WEBHOOK_SLOTS = 'webhookSlots';

export const webhookSlotsStream = (customerId: number): string => `${WEBHOOK_SLOTS}-${customerId}`;

export const SUBSCRIPTIONS_MAX = 50;

const dataOf = ({ holderId, claimId }: Slot) => ({ subscriptionId: holderId, claimId });

export const webhookSlotsAggregate = {
  category: WEBHOOK_SLOTS,
  stream: webhookSlotsStream,
  events: webhookSlotEvents,
  ...slotRules<WebhookSlotEvent>({
    slotsMax: SUBSCRIPTIONS_MAX,
    claimed: (slot) => ({ type: 'WebhookSlotClaimed', data: dataOf(slot) }),
    released: (slot) => ({ type: 'WebhookSlotReleased', data: dataOf(slot) }),
    read: ({ type, data: { subscriptionId, claimId } }) => ({
      is: type === 'WebhookSlotClaimed' ? 'claimed' : 'released',
      holderId: subscriptionId,
      claimId,
    }),
  }),
};
