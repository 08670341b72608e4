import { z } from 'zod';
import { accept, refuse, type Decision, type EventsOf } from '../decision.ts';

/** A release must name this claim, not a later one of the same subscription. */
const Slot = z.object({ subscriptionId: z.uuid(), claimId: z.uuid() });

const webhookSlotEvents = {
  WebhookSlotClaimed: { schemaVersion: 1, data: Slot },
  WebhookSlotReleased: { schemaVersion: 1, data: Slot },
} as const;

type WebhookSlotEvent = EventsOf<typeof webhookSlotEvents>;

/**
 * A subscription claims a slot before it is created, so concurrent requests never exceed the limit. A crash
 * may leave a claim without a subscription; the next request that finds no free slot releases it.
 */
const WEBHOOK_SLOTS = 'webhookSlots';

export const webhookSlotsStream = (customerId: number): string => `${WEBHOOK_SLOTS}-${customerId}`;

export interface SlotClaim {
  readonly claimId: string;
  readonly at: string;
}

/** By ids of subscriptions. */
export type WebhookSlots = Readonly<Record<string, SlotClaim>>;

export const SUBSCRIPTIONS_MAX = 50;

const evolve = (slots: WebhookSlots, { type, data, occurredAt }: WebhookSlotEvent): WebhookSlots => {
  const { [data.subscriptionId]: known, ...others } = slots;
  switch (type) {
    case 'WebhookSlotClaimed':
      return { ...others, [data.subscriptionId]: { claimId: data.claimId, at: occurredAt } };
    case 'WebhookSlotReleased':
      return known?.claimId === data.claimId ? others : slots;
    default:
      return (type satisfies never, slots);
  }
};

export interface WebhookSlotsCommand {
  /** Claims again although it has a slot: another request may see the older claim as abandoned. */
  readonly type: 'ClaimSlot' | 'ReleaseSlot';
  readonly now: string;
  readonly subscriptionId: string;
  readonly claimId: string;
}

export interface WebhookSlotsRefusal {
  readonly reason: 'no-free-slot';
  readonly slots: WebhookSlots;
}

const decide = (
  { type, now: occurredAt, subscriptionId, claimId }: WebhookSlotsCommand,
  slots: WebhookSlots,
): Decision<WebhookSlotEvent, WebhookSlotsRefusal> => {
  const known = Object.hasOwn(slots, subscriptionId) ? slots[subscriptionId] : undefined;
  const data = { subscriptionId, claimId };
  switch (type) {
    case 'ClaimSlot':
      if (known === undefined && Object.keys(slots).length >= SUBSCRIPTIONS_MAX) {
        return refuse({ reason: 'no-free-slot', slots });
      }
      return accept({ type: 'WebhookSlotClaimed', data, occurredAt });
    case 'ReleaseSlot':
      if (known?.claimId !== claimId) return accept();
      return accept({ type: 'WebhookSlotReleased', data, occurredAt });
    default:
      return type satisfies never;
  }
};

export const webhookSlotsAggregate = {
  category: WEBHOOK_SLOTS,
  stream: webhookSlotsStream,
  events: webhookSlotEvents,
  initialState: {},
  evolve,
  decide,
};
