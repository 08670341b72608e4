import { isoTimestamp, type Clock } from '../../../shared/async/clock.ts';
import type { EventStore } from '../../../shared/event-store/event-store.ts';
import { disableSubscription } from '../../webhooks/commands.ts';
import type { SubscriptionKey } from './delivery-rows.ts';

/** @param startedAtMs of the attempts: a subscription that was changed since stays. @returns whether it is disabled */
export type DisableEndpoint = (
  subscription: SubscriptionKey,
  reason: 'gone' | 'failing',
  startedAtMs: number,
) => Promise<boolean>;

const MESSAGES = {
  gone: 'The endpoint answered with HTTP status 410 (Gone). Set the status to active to deliver again.',
  failing:
    'All attempts to deliver failed for days. Set the status to active to deliver again, then recover what was not delivered.',
} as const;

export const createDisableEndpoint =
  (stores: { readonly store: EventStore; readonly clock: Clock }): DisableEndpoint =>
  async (subscription, reason, startedAtMs) => {
    const attemptAt = isoTimestamp(startedAtMs);
    const verdict = { ...subscription, reason, message: MESSAGES[reason], attemptAt };
    return (await disableSubscription(stores, verdict))?.status === 'disabled';
  };
