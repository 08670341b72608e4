import { accept, refuse, type Decision, type DomainEvent } from '../decision.ts';

/** A release must name this claim, not a later one of the same holder. */
export interface Slot {
  readonly holderId: string;
  readonly claimId: string;
}

export interface SlotClaim {
  readonly claimId: string;
  readonly at: string;
}

/** By ids of holders. */
export type Slots = Readonly<Record<string, SlotClaim>>;

export interface SlotsCommand {
  /** Claims again although it has a slot: another request may see the older claim as abandoned. */
  readonly type: 'ClaimSlot' | 'ReleaseSlot';
  readonly now: string;
  readonly holderId: string;
  readonly claimId: string;
}

export interface SlotsRefusal {
  readonly reason: 'no-free-slot';
  readonly slots: Slots;
}

interface SlotKind<Event extends DomainEvent> {
  readonly slotsMax: number;
  readonly claimed: (slot: Slot) => Omit<Event, 'occurredAt'>;
  readonly released: (slot: Slot) => Omit<Event, 'occurredAt'>;
  readonly read: (event: Event) => Slot & { readonly is: 'claimed' | 'released' };
}

/**
 * A holder claims a slot before it is created, so concurrent requests never exceed the limit. A crash may leave
 * a claim without a holder; the next request that finds no free slot releases it (`command/slots/hold-slot.ts`).
 */
export const slotRules = <Event extends DomainEvent>({
  slotsMax,
  claimed,
  released,
  read,
}: SlotKind<Event>) => ({
  initialState: {} as Slots,
  evolve: (slots: Slots, event: Event): Slots => {
    const { is, holderId, claimId } = read(event);
    const { [holderId]: known, ...others } = slots;
    if (is === 'claimed') return { ...others, [holderId]: { claimId, at: event.occurredAt } };
    return known?.claimId === claimId ? others : slots;
  },
  decide: (
    { type, now: occurredAt, holderId, claimId }: SlotsCommand,
    slots: Slots,
  ): Decision<Event, SlotsRefusal> => {
    const known = Object.hasOwn(slots, holderId) ? slots[holderId] : undefined;
    const slot = { holderId, claimId };
    switch (type) {
      case 'ClaimSlot':
        if (known === undefined && Object.keys(slots).length >= slotsMax) {
          return refuse({ reason: 'no-free-slot', slots });
        }
        return accept({ ...claimed(slot), occurredAt } as Event);
      case 'ReleaseSlot':
        if (known?.claimId !== claimId) return accept();
        return accept({ ...released(slot), occurredAt } as Event);
      default:
        return type satisfies never;
    }
  },
});
