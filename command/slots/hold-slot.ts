import { randomUUID } from 'node:crypto';
import type { SlotClaim, Slots, SlotsCommand, SlotsRefusal } from '../../domain/slots/slots.ts';
import type { Aggregate } from '../../shared/aggregate/aggregate.ts';
import { handlerFor, type CommandStores } from '../../shared/aggregate/handler-for.ts';
import type { StorableEvent } from '../../shared/aggregate/recorded-domain-event.ts';
import { isoTimestamp, type Clock } from '../../shared/async/clock.ts';
import { NotDoneError } from '../../shared/http/errors.ts';
import type { RequestContext } from '../../shared/http/route.ts';

export interface SlotWrites extends CommandStores {
  readonly clock: Clock;
}

interface SlotHolders {
  /** `missing`: not created, or not yet. */
  readonly stateOf: (
    writes: SlotWrites,
    customerId: number,
    holderId: string,
  ) => Promise<'holds' | 'over' | 'missing'>;
  /** The refusal while all slots are held. @param holderIds of the holders */
  readonly allTaken: (
    holderIds: readonly string[],
    writes: SlotWrites,
    customerId: number,
  ) => Error | Promise<Error>;
}

/** No running request owns an older claim: requests end after 2.8 s, and the rest exceeds the clock skew. */
const LEASE_MS = 60_000;
const TRIES_MAX = 5;

export const slotsOf = <Event extends StorableEvent>(
  aggregate: Aggregate<Slots, SlotsCommand, Event, SlotsRefusal, undefined, Slots>,
  { stateOf, allTaken }: SlotHolders,
) => {
  const { execute, loadAt } = handlerFor(aggregate);

  /** Every run decides again: another request may have released what an earlier run claimed. */
  const runOnSlots = (
    writes: SlotWrites,
    command: Omit<SlotsCommand, 'now'>,
    { requestId, isAbandoned, principal: { customerId, actor } }: RequestContext,
  ) =>
    execute(
      writes,
      undefined,
      { ...command, now: isoTimestamp(writes.clock.now()) },
      {
        context: { commandId: randomUUID(), customerId, actor, requestId },
        isAbandoned,
        hasRunBefore: async () => false,
      },
    );

  const releaseIfUnused = async (
    writes: SlotWrites,
    holderId: string,
    { claimId, at }: SlotClaim,
    request: RequestContext,
  ): Promise<boolean> => {
    const state = await stateOf(writes, request.principal.customerId, holderId);
    const isNew = writes.clock.now() - Date.parse(at) < LEASE_MS;
    if (state === 'holds' || (state === 'missing' && isNew)) return false;
    await runOnSlots(writes, { type: 'ReleaseSlot', holderId, claimId }, request);
    return true;
  };

  return {
    /**
     * Call it before the holder is created. A claim whose holder is missing after the lease was left by a crash:
     * its request has ended, and a repeat claims again before it creates.
     * @throws the refusal while all slots are held; NotDoneError when other requests take those that get free
     */
    hold: async (writes: SlotWrites, holderId: string, request: RequestContext): Promise<void> => {
      for (let tries = 1; tries <= TRIES_MAX; tries += 1) {
        const claim = { type: 'ClaimSlot', holderId, claimId: randomUUID() } as const;
        const outcome = await runOnSlots(writes, claim, request);
        if (outcome.outcome === 'done') return;
        const taken = Object.entries(outcome.refusal.slots);
        const released = await Promise.all(
          taken.map(([id, known]) => releaseIfUnused(writes, id, known, request)),
        );
        if (!released.includes(true)) {
          const holderIds = taken.map(([id]) => id);
          throw await allTaken(holderIds, writes, request.principal.customerId);
        }
      }
      throw new NotDoneError(
        'Other requests take the free places now. Repeat the request after Retry-After.',
      );
    },

    /** A failed release does not fail the completed deletion: the next request at the limit releases the slot. */
    release: async (writes: SlotWrites, holderId: string, request: RequestContext): Promise<void> => {
      const { state: slots } = await loadAt(writes, request.principal.customerId, undefined);
      const claimId = Object.hasOwn(slots, holderId) ? slots[holderId]?.claimId : undefined;
      if (claimId === undefined) return;
      await runOnSlots(writes, { type: 'ReleaseSlot', holderId, claimId }, request);
    },
  };
};
