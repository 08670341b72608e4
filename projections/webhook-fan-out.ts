import { ACCOUNT } from '../domain/accounts/account.ts';
import { notifiedOnlyWith } from '../domain/all-notifications.ts';
import { carriesAdvertiser } from '../domain/history/audited-event.ts';
import { exampleNotification, publicKinds } from '../domain/notifications/kinds.ts';
import { kindsMatching, matchesKind } from '../domain/notifications/matches.ts';
import { notifiedCategories } from '../domain/notifications/notifications-of.ts';
import { WEBHOOK_SUBSCRIPTION } from '../domain/webhooks/webhook-subscription.ts';
import { WEBHOOK, WEBHOOK_ROWS, type RowsChange } from '../domain/webhooks/work.ts';
import { derivedId, notificationIdOf } from '../shared/aggregate/ids.ts';
import {
  categoryOf,
  comparePositions,
  START,
  type Position,
  type RecordedEvent,
} from '../shared/event-store/event-store.ts';
import { recordPositions } from '../shared/follow-log/record-position.ts';
import { requestWork, type WorkRequest } from '../shared/work-list/request-work.ts';
import { advertisersOfStreams } from './advertisers-of-streams.ts';
import type { Projection } from './engine/projection.ts';
import { notificationsIn, type EventNotification } from './notified-events.ts';
import { loadEndpoints, type Endpoint, type EndpointChange, type Endpoints } from './webhook-endpoints.ts';
import {
  addDeliveries,
  DELIVERED_DAYS,
  redeliver,
  withDue,
  type Redelivery,
  type SubscriptionPlace,
  type WebhookDelivery,
} from './webhook-rows.ts';

/**
 * One delivery for each notification and endpoint that wants it. Endpoints are read from the same log in the same
 * order, so "created before, not yet deleted" is exact, however far this is behind (docs/design/webhooks.md).
 */
export const webhookFanOut: Projection = {
  name: 'webhook-fan-out',
  categories: [...new Set([...notifiedCategories, WEBHOOK_SUBSCRIPTION, ACCOUNT])],
  having: notifiedOnlyWith,
  tables: [],
  work: [WEBHOOK, WEBHOOK_ROWS],
  restart: async (client) => {
    // What the log tells again. Deliveries stay: their ids say that they exist.
    await client.query('truncate webhook_endpoints, webhook_disabled_accounts, webhook_streams');
    await requestWork(client, WEBHOOK, (await withDue(client)).map(dueAt(START)), { isAgain: true });
  },
  apply: async (client, events) => {
    const endpoints = await loadEndpoints(client, events);
    const found = findEffects(endpoints, events);
    const advertisers = await advertisersOfStreams(client, 'webhook_streams', found.ofAdvertisers);
    await endpoints.save(client);
    const deliveries = found.offers.flatMap((offer) => deliveriesOf(offer, advertisers));
    await recordPositions(
      client,
      deliveries.map(({ message }) => message),
    );
    const withNews = [
      ...(await addDeliveries(client, deliveries, DELIVERED_DAYS)),
      ...(await redeliver(client, [...found.redeliveries.values()])),
      ...found.enabled,
    ].filter(({ customerId, subscriptionId }) => endpoints.isActive(customerId, subscriptionId));
    const due = [...new Map(withNews.map((place) => [place.subscriptionId, place])).values()];
    if (due.length + found.changes.length === 0) return false;
    await requestWork(client, WEBHOOK, due.map(dueAt(events.at(-1)?.position ?? START)), { isAgain: true });
    return requestWork(client, WEBHOOK_ROWS, found.changes);
  },
};

const dueAt =
  (revision: Position) =>
  ({ customerId, subscriptionId: key }: SubscriptionPlace): WorkRequest => ({ customerId, key, revision });

interface Effects {
  /** The events whose advertiser is recorded, or asked for. */
  readonly ofAdvertisers: RecordedEvent[];
  readonly offers: Offer[];
  /** By delivery. */
  readonly redeliveries: Map<string, Redelivery>;
  readonly enabled: SubscriptionPlace[];
  readonly changes: WorkRequest[];
}

/** A notification, and the endpoints that it is for as far as its kind says it. */
interface Offer {
  readonly notification: EventNotification;
  readonly endpoints: readonly Endpoint[];
  /** Its endpoint gets it regardless of the filters, with the advertiser of the example. */
  readonly isTest?: true;
}

const findEffects = (endpoints: Endpoints, events: readonly RecordedEvent[]): Effects => {
  const effects: Effects = {
    ofAdvertisers: [],
    offers: [],
    redeliveries: new Map(),
    enabled: [],
    changes: [],
  };
  for (const event of events) {
    for (const change of endpoints.apply(event)) addEffect(effects, event, change);
    const offers = offersOf(event, endpoints.live(event.metadata.customerId));
    effects.offers.push(...offers);
    // An account may get endpoints later, and only the first event of a stream names the advertiser.
    const isFirst = event.revision === 0 && carriesAdvertiser(categoryOf(event.stream));
    if (isFirst || offers.length > 0) effects.ofAdvertisers.push(event);
  }
  return effects;
};

const addEffect = (
  { offers, redeliveries, enabled, changes }: Effects,
  event: RecordedEvent,
  { cause, endpoint }: EndpointChange,
): void => {
  const { subscriptionId, generation, isSuspended } = endpoint;
  const change = (data: RowsChange, key = derivedId(event.id, subscriptionId)): void => {
    changes.push({ customerId: endpoint.customerId, key, revision: event.position, data });
  };
  switch (cause.type) {
    case 'AccountDisabled':
    case 'WebhookSubscriptionDisabled':
    case 'WebhookSubscriptionDeleted':
      return change({ is: 'cancel', subscriptionId, generation });
    case 'WebhookSubscriptionEnabled':
      enabled.push(endpoint);
      return;
    case 'WebhookTestRequested':
      if (!isSuspended) offers.push(...testOffers(event, endpoint, cause.data.kind));
      return;
    case 'WebhookRedeliveryRequested': {
      const { deliveryId } = cause.data;
      if (!isSuspended) redeliveries.set(deliveryId, { ...endpoint, deliveryId });
      return;
    }
    case 'WebhookRecoveryRequested':
      return change({ is: 'recover', subscriptionId, generation, since: cause.data.since });
    case 'WebhookReplayRequested': {
      const { replayId, eventTypes, ...period } = cause.data;
      const { advertiserIds } = endpoint.subscription;
      const kinds = [...kindsMatching(eventTypes.length > 0 ? eventTypes : endpoint.subscription.eventTypes)];
      const replay = {
        ...period,
        kinds,
        advertiserIds: advertiserIds === undefined ? null : [...advertiserIds],
        requestedAt: event.metadata.occurredAt,
      };
      return change({ is: 'replay', subscriptionId, generation, ...replay }, replayId);
    }
    // What waits for the next attempt at the old URL need not wait any more.
    case 'WebhookSubscriptionUpdated':
      if (cause.data.changes.url !== undefined) enabled.push(endpoint);
      return;
    // Only later notifications are affected.
    case 'WebhookSubscriptionCreated':
    case 'WebhookSecretRotated':
    case 'WebhookSubscriptionPaused':
      return;
    default:
      return cause satisfies never;
  }
};

/** None for a kind that has left the catalogue. */
const testOffers = (event: RecordedEvent, endpoint: Endpoint, asked: string): readonly Offer[] => {
  const { occurredAt } = event.metadata;
  return publicKinds
    .filter((kind) => kind === asked)
    .map((kind) => ({
      notification: {
        ...exampleNotification(kind),
        id: notificationIdOf(event.id, 0),
        occurredAt,
        event,
        idx: 0,
      },
      endpoints: [endpoint],
      isTest: true,
    }));
};

const offersOf = (event: RecordedEvent, live: readonly Endpoint[]): readonly Offer[] =>
  live.length === 0
    ? []
    : notificationsIn(event).flatMap((notification) => {
        const endpoints = live.filter(
          ({ createdPosition, subscription: { eventTypes } }) =>
            comparePositions(event.position, createdPosition) > 0 &&
            matchesKind(eventTypes, notification.kind),
        );
        return endpoints.length === 0 ? [] : [{ notification, endpoints }];
      });

const deliveriesOf = (
  { notification, endpoints, isTest }: Offer,
  advertisers: ReadonlyMap<string, number>,
): readonly WebhookDelivery[] => {
  const { event, idx: _idx, ...kept } = notification;
  const { position, metadata } = event;
  const advertiserId = isTest === true ? kept.advertiserId : advertisers.get(event.stream);
  const message = { ...kept, advertiserId, customerId: metadata.customerId, position };
  return endpoints
    .filter(
      ({ subscription: { advertiserIds } }) =>
        isTest === true ||
        advertiserIds === undefined ||
        (advertiserId !== undefined && advertiserIds.includes(advertiserId)),
    )
    .map(({ subscriptionId, generation }) => ({
      id: derivedId(message.id, subscriptionId),
      subscriptionId,
      generation,
      message,
    }));
};
