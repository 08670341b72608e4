import { SUBSCRIPTIONS_MAX, webhookSlotsAggregate } from '../../domain/webhooks/subscription-slots.ts';
import { ApiError } from '../../shared/http/errors.ts';
import { slotsOf } from '../slots/hold-slot.ts';
import { loadSubscriptionOfAnyTime } from './handler.ts';

/** @throws ApiError CONFLICT at the limit of 50 */
export const { hold: holdSlot, release: releaseSlot } = slotsOf(webhookSlotsAggregate, {
  stateOf: async (writes, customerId, subscriptionId) => {
    const found = await loadSubscriptionOfAnyTime(writes, customerId, subscriptionId);
    if (found === undefined) return 'missing';
    // Deleting releases it; a request that still creates one cannot find it deleted.
    return found.status === 'deleted' ? 'over' : 'holds';
  },
  allTaken: (holders) =>
    new ApiError({
      code: 'CONFLICT',
      message: `The account has ${holders.length} webhook subscriptions, and may have ${SUBSCRIPTIONS_MAX}. Delete one first.`,
      details: { limit: SUBSCRIPTIONS_MAX, active: holders.length },
    }),
});
