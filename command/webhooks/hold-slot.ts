import { randomUUID } from 'node:crypto';
import {
  SUBSCRIPTIONS_MAX,
  webhookSlotsAggregate,
  type SlotClaim,
  type WebhookSlotsCommand,
} from '../../domain/webhooks/subscription-slots.ts';
import { handlerFor, type CommandStores } from '../../shared/aggregate/handler-for.ts';
import { isoTimestamp, type Clock } from '../../shared/async/clock.ts';
import { ApiError, NotDoneError } from '../../shared/http/errors.ts';
import type { RequestContext } from '../../shared/http/route.ts';
import { loadSubscriptionOfAnyTime } from './handler.ts';

export interface SlotWrites extends CommandStores {
  readonly clock: Clock;
}

const { execute, loadAt } = handlerFor(webhookSlotsAggregate);

/** No running request owns an older claim: requests end after 2.8 s, and the rest exceeds the clock skew. */
const LEASE_MS = 60_000;
const TRIES_MAX = 5;

/**
 * Call it before the subscription is created. A claim whose subscription is missing after the lease was left by
 * a crash: its request has ended, and a repeat claims again before it creates.
 * @throws ApiError CONFLICT at the limit
 */
export const holdSlot = async (
  writes: SlotWrites,
  subscriptionId: string,
  request: RequestContext,
): Promise<void> => {
  for (let tries = 1; tries <= TRIES_MAX; tries += 1) {
    const claim = { type: 'ClaimSlot', subscriptionId, claimId: randomUUID() } as const;
    const outcome = await runOnSlots(writes, claim, request);
    if (outcome.outcome === 'done') return;
    const taken = Object.entries(outcome.refusal.slots);
    const released = await Promise.all(
      taken.map(([id, known]) => releaseIfUnused(writes, id, known, request)),
    );
    if (!released.includes(true)) throw tooManySubscriptions(taken.length);
  }
  throw new NotDoneError('Other requests take the free places now. Repeat the request after Retry-After.');
};

/** A failed release does not fail the completed deletion: the next request at the limit releases the slot. */
export const releaseSlot = async (
  writes: SlotWrites,
  subscriptionId: string,
  request: RequestContext,
): Promise<void> => {
  const { state: slots } = await loadAt(writes, request.principal.customerId, undefined);
  const claimId = Object.hasOwn(slots, subscriptionId) ? slots[subscriptionId]?.claimId : undefined;
  if (claimId === undefined) return;
  await runOnSlots(writes, { type: 'ReleaseSlot', subscriptionId, claimId }, request);
};

const releaseIfUnused = async (
  writes: SlotWrites,
  subscriptionId: string,
  { claimId, at }: SlotClaim,
  request: RequestContext,
): Promise<boolean> => {
  if (writes.clock.now() - Date.parse(at) < LEASE_MS) return false;
  const found = await loadSubscriptionOfAnyTime(writes, request.principal.customerId, subscriptionId);
  const isUnused = found === undefined || found.status === 'deleted';
  if (isUnused) await runOnSlots(writes, { type: 'ReleaseSlot', subscriptionId, claimId }, request);
  return isUnused;
};

/** Every run decides again: another request may have released what an earlier run claimed. */
const runOnSlots = (
  writes: SlotWrites,
  command: Omit<WebhookSlotsCommand, 'now'>,
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

const tooManySubscriptions = (active: number): ApiError =>
  new ApiError({
    code: 'CONFLICT',
    message: `The account has ${active} webhook subscriptions, and may have ${SUBSCRIPTIONS_MAX}. Delete one first.`,
    details: { limit: SUBSCRIPTIONS_MAX, active },
  });
