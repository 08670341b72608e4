import { describe, expect, it } from '@jest/globals';
import type { WebhookEvent } from '../../domain/webhooks/events.ts';
import { webhookSubscriptionResource, type WebhookSubscription } from '../../domain/webhooks/resource.ts';
import { webhookSubscriptionAggregate } from '../../domain/webhooks/webhook-subscription.ts';
import { specificationOf } from '../support/given.ts';

const { given } = specificationOf(webhookSubscriptionAggregate);

const at = '2026-03-01T10:00:00.000Z';
const before = '2026-03-01T09:00:00.000Z';
const now = '2026-03-02T10:00:00.000Z';
const [id, secretId, nextSecretId] = [
  '11111111-1111-4111-8111-111111111111',
  '22222222-2222-4222-8222-222222222222',
  '33333333-3333-4333-8333-333333333333',
];

const subscription = {
  subscriptionId: id,
  customerId: 1,
  secretId,
  url: 'https://hooks.example.com/in',
  eventTypes: ['creative.*'],
  payload: 'thin' as const,
  authentication: 'none' as const,
};

const event = <Type extends WebhookEvent['type']>(
  type: Type,
  data: Extract<WebhookEvent, { type: Type }>['data'],
  occurredAt = at,
): WebhookEvent => ({ type, data, occurredAt }) as WebhookEvent;

const created = event('WebhookSubscriptionCreated', subscription);
const paused = event('WebhookSubscriptionPaused', {});
const gone = event('WebhookSubscriptionDisabled', { reason: 'gone', message: 'It answered 410.' });
const failing = event('WebhookSubscriptionDisabled', { reason: 'failing', message: 'Nothing succeeded.' });
const enabled = event('WebhookSubscriptionEnabled', {});
const deleted = event('WebhookSubscriptionDeleted', {});
const rotated = (overlapUntil: string) =>
  event('WebhookSecretRotated', { secretId: nextSecretId, previousSecretId: secretId, overlapUntil });
const soon = '2026-03-03T10:00:00.000Z';

const create = { type: 'CreateSubscription', now: at, subscription } as const;
const update = (changes: object, status?: 'active' | 'inactive') =>
  ({ type: 'UpdateSubscription', now, changes, status }) as const;
const disable = (attemptAt: string) =>
  ({ type: 'DisableSubscription', now, reason: 'gone', message: 'It answered 410.', attemptAt }) as const;
const rotate = (force = false) =>
  ({ type: 'RotateSecret', now, secretId: nextSecretId, overlapUntil: soon, force }) as const;
const test = {
  type: 'RequestDeliveries',
  now,
  request: { type: 'WebhookTestRequested', data: { kind: 'creative.updated' } },
} as const;
const remove = { type: 'DeleteSubscription', now } as const;

describe('creating', () => {
  it('happens once', () => {
    given().when(create).then(created);
    given(created).when(create).thenRefused({ reason: 'already-exists' });
    given(created, deleted).when(create).thenRefused({ reason: 'already-exists' });
  });
});

describe('updating', () => {
  it('records only what changes; null clears a member', () => {
    given(created)
      .when(update({ url: subscription.url, payload: 'thin' }))
      .thenNothing();
    const changes = { url: 'https://other.example.com/', advertiserIds: [1, 2], description: 'Ours' };
    const changed = event('WebhookSubscriptionUpdated', { changes }, now);
    const after = given(created).when(update({ ...changes, payload: 'thin' }));
    after.then(changed);
    expect(after.state()).toMatchObject({ ...changes, updatedAt: now });
    given(created, changed)
      .when(update({ advertiserIds: null, description: null }))
      .then(
        event('WebhookSubscriptionUpdated', { changes: { advertiserIds: null, description: null } }, now),
      );
  });

  it('pauses an active subscription, and ends a pause or the disabling', () => {
    given(created)
      .when(update({}, 'inactive'))
      .then({ ...paused, occurredAt: now });
    given(created, paused).when(update({}, 'inactive')).thenNothing();
    given(created).when(update({}, 'active')).thenNothing();
    for (const state of [paused, gone, failing]) {
      given(created, state)
        .when(update({}, 'active'))
        .then({ ...enabled, occurredAt: now });
    }
    given(created, gone).when(update({}, 'inactive')).thenNothing();
    given(created, failing).when(update({}, 'inactive')).thenRefused({ reason: 'failed' });
  });

  it('changes members and the status in one step', () => {
    const url = 'https://other.example.com/';
    given(created, failing)
      .when(update({ url }, 'active'))
      .then(event('WebhookSubscriptionUpdated', { changes: { url } }, now), { ...enabled, occurredAt: now });
  });
});

describe('rotating the secret', () => {
  it('keeps the old one until the overlap ends', () => {
    const after = given(created).when(rotate());
    after.then({ ...rotated(soon), occurredAt: now });
    expect(after.state()).toMatchObject({
      secretId: nextSecretId,
      previousSecret: { secretId, until: soon },
    });
  });

  it('is refused during the overlap of an earlier rotation, unless forced', () => {
    given(created, rotated(soon)).when(rotate()).thenRefused({ reason: 'rotation-running', until: soon });
    const data = { secretId: nextSecretId, previousSecretId: nextSecretId, overlapUntil: soon };
    given(created, rotated(soon))
      .when(rotate(true))
      .then(event('WebhookSecretRotated', data, now));
    given(created, rotated(now))
      .when(rotate())
      .then(event('WebhookSecretRotated', data, now));
  });
});

describe('disabling by the service', () => {
  it('happens once, also to a paused subscription', () => {
    given(created)
      .when(disable(now))
      .then({ ...gone, occurredAt: now });
    given(created, paused)
      .when(disable(now))
      .then({ ...gone, occurredAt: now });
    given(created, failing).when(disable(now)).thenNothing();
  });

  it('does not follow from an attempt that began before the last change', () => {
    given(created).when(disable(before)).thenNothing();
    given(created, gone, { ...enabled, occurredAt: now })
      .when(disable(at))
      .thenNothing();
  });

  it('is shown with its reason until the subscription is enabled again', () => {
    const shown = (...events: readonly WebhookEvent[]) =>
      webhookSubscriptionResource(given(created, ...events).state() as WebhookSubscription);
    expect(shown(gone)).toMatchObject({
      status: 'inactive',
      statusReason: 'gone',
      statusMessage: 'It answered 410.',
    });
    expect(shown(failing)).toMatchObject({ status: 'failed', statusReason: 'failing' });
    expect(shown(paused)).toMatchObject({ status: 'inactive', statusReason: 'paused' });
    const { status, statusReason, statusMessage } = shown(gone, enabled);
    expect({ status, statusReason, statusMessage }).toEqual({ status: 'active' });
  });
});

describe('asking for deliveries', () => {
  it('needs an active subscription', () => {
    given(created)
      .when(test)
      .then(event('WebhookTestRequested', { kind: 'creative.updated' }, now));
    for (const state of [paused, gone, failing]) {
      given(created, state).when(test).thenRefused({ reason: 'not-active' });
    }
    expect(given(created).when(test).state()).toEqual(given(created).state());
  });
});

describe('a missing or deleted subscription', () => {
  it.each([update({}, 'active'), disable(now), rotate(), test, remove])('refuses $type', (command) => {
    given().when(command).thenRefused({ reason: 'not-found' });
    given(created, deleted).when(command).thenRefused({ reason: 'not-found' });
  });

  it('is deleted from every status', () => {
    for (const history of [[created], [created, paused], [created, gone]]) {
      given(...history)
        .when(remove)
        .then({ ...deleted, occurredAt: now });
    }
  });

  it('ignores events before its creation', () => {
    expect(given(paused, rotated(soon), deleted).state()).toBe(webhookSubscriptionAggregate.initialState);
  });
});
