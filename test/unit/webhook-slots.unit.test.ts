import { expect, it } from '@jest/globals';
import { SUBSCRIPTIONS_MAX, webhookSlotsAggregate } from '../../domain/webhooks/subscription-slots.ts';
import { specificationOf } from '../support/given.ts';

const { given } = specificationOf(webhookSlotsAggregate);

const now = '2026-03-01T10:00:00.000Z';
const claimed = (subscriptionId: string, claimId: string) =>
  ({ type: 'WebhookSlotClaimed', data: { subscriptionId, claimId }, occurredAt: now }) as const;
const released = (subscriptionId: string, claimId: string) =>
  ({ type: 'WebhookSlotReleased', data: { subscriptionId, claimId }, occurredAt: now }) as const;
const claim = (holderId: string, claimId: string) => ({ type: 'ClaimSlot', now, holderId, claimId }) as const;
const release = (holderId: string, claimId: string) =>
  ({ type: 'ReleaseSlot', now, holderId, claimId }) as const;

const full = Array.from({ length: SUBSCRIPTIONS_MAX }, (_, n) => claimed(`subscription-${n}`, `claim-${n}`));

it('there are 50 slots; a subscription with a slot claims it again', () => {
  given(...full.slice(1))
    .when(claim('other', 'c'))
    .then(claimed('other', 'c'));
  const { state } = given(...full);
  given(...full)
    .when(claim('other', 'c'))
    .thenRefused({ reason: 'no-free-slot', slots: state() });
  given(...full)
    .when(claim('subscription-7', 'c'))
    .then(claimed('subscription-7', 'c'));
});

it('a release frees a slot, but only by its last claim', () => {
  given(claimed('a', 'first'), claimed('a', 'second')).when(release('a', 'first')).thenNothing();
  given(claimed('a', 'first')).when(release('b', 'first')).thenNothing();
  const after = given(...full).when(release('subscription-7', 'claim-7'));
  after.then(released('subscription-7', 'claim-7'));
  expect(Object.keys(after.state())).toHaveLength(SUBSCRIPTIONS_MAX - 1);
  expect(given(claimed('a', 'second'), released('a', 'first')).state()).toHaveProperty('a');
});
