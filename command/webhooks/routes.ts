import { z } from 'zod';
import {
  CreateWebhookBody,
  RecoverWebhookBody,
  ReplayWebhookBody,
  RotateSecretBody,
  TestWebhookBody,
  UpdateWebhookBody,
} from '../../domain/webhooks/input.ts';
import { KEPT_DAYS } from '../../domain/notifications/kept-days.ts';
import { kindsMatching } from '../../domain/notifications/matches.ts';
import { deliveryIdOf, shownDeliveryId } from '../../domain/webhooks/delivery-resource.ts';
import {
  webhookIdOf,
  webhookSubscriptionResource,
  WebhookSubscriptionResource,
  type WebhookHealth,
} from '../../domain/webhooks/resource.ts';
import { Timestamp } from '../../domain/values.ts';
import { derivedId, eventIdOf, notificationIdOf } from '../../shared/aggregate/ids.ts';
import { isoTimestamp } from '../../shared/async/clock.ts';
import { ApiError, invalid, notFound } from '../../shared/http/errors.ts';
import { route, type RequestContext, type Route } from '../../shared/http/route.ts';
import { outboundAddress, pathTextId } from '../../shared/http/schemas.ts';
import { isOwnAddress, type OutboundPolicy } from '../../shared/outbound/outbound-url.ts';
import {
  createSubscription,
  deleteSubscription,
  requestDeliveries,
  rotateSecret,
  updateSubscription,
  type WebhookWrites,
} from './commands.ts';
import { loadSubscription, subscriptionDoneBefore } from './handler.ts';

export interface ReplayedPeriod {
  /** ISO 8601; `until` is not included. */
  readonly since: string;
  readonly until: string;
  readonly kinds: readonly string[];
  /** Undefined: all. */
  readonly advertiserIds: readonly number[] | undefined;
}

export interface WebhookRoutes extends WebhookWrites {
  readonly outbound: OutboundPolicy;
  readonly baseUrl: () => string;
  readonly healthOf: (customerId: number, subscriptionId: string) => Promise<WebhookHealth>;
  readonly isDelivery: (customerId: number, subscriptionId: string, deliveryId: string) => Promise<boolean>;
  /** Counts up to `most`. */
  readonly countNotifications: (customerId: number, period: ReplayedPeriod, most: number) => Promise<number>;
  /** Due deliveries. Counts up to `most`. */
  readonly countWaiting: (customerId: number, subscriptionId: string, most: number) => Promise<number>;
}

const path = '/api/v2/buyer/webhook-subscriptions';
const onePath = `${path}/{id}`;
const params = z.object({ id: pathTextId('webhook subscription') });
const write = { tag: 'Webhooks', access: 'exchange:write' } as const;

const Shown = { subscription: WebhookSubscriptionResource };
const NewSecret = z.string().optional().meta({
  description: 'The new signing secret, shown only in this answer. Absent if the request gave one.',
});

export const webhookWriteRoutes = (writes: WebhookRoutes): readonly Route[] => [
  createRoute(writes),
  updateRoute(writes),
  deleteRoute(writes),
  rotateRoute(writes),
  testRoute(writes),
  redeliverRoute(writes),
  recoverRoute(writes),
  replayRoute(writes),
];

/** @throws ApiError NOT_FOUND */
const idOf = (shownId: string): string => {
  const id = webhookIdOf(shownId);
  if (id === undefined) throw notFound('webhook subscription');
  return id;
};

/** Deliveries to the service itself could cause deliveries without end. */
const receiverAddress = ({ outbound, baseUrl }: WebhookRoutes) =>
  outboundAddress(outbound).refine(
    (url) => !isOwnAddress(url, baseUrl()),
    'must not be an address of this service',
  );

const createRoute = (writes: WebhookRoutes): Route =>
  route({
    ...write,
    method: 'post',
    path,
    operationId: 'createWebhookSubscription',
    description:
      'The secret is shown in this answer only; deliveries are signed with it as Standard Webhooks ' +
      'defines. The address must be public and `https`.',
    alsoRefuses: ['NOT_FOUND'],
    summary:
      'Subscribe an https address to events; at most 50 subscriptions in the account. A secret that the service makes is shown only in this answer.',
    body: CreateWebhookBody(receiverAddress(writes)),
    bodyIsSecret: true,
    answerIsSecret: true,
    responses: {
      201: {
        description: 'The new subscription',
        data: z.strictObject({ ...Shown, secret: NewSecret }),
      },
    },
    handle: async ({ body, request }) => {
      const { subscription, secret } = await createSubscription(writes, body, request);
      const shown = webhookSubscriptionResource(subscription, { failureCount: 0 });
      return { status: 201, data: { subscription: shown, secret } };
    },
  });

const updateRoute = (writes: WebhookRoutes): Route =>
  route({
    ...write,
    method: 'put',
    path: onePath,
    operationId: 'updateWebhookSubscription',
    summary: 'Change members of a webhook subscription, pause or enable it; absent members stay unchanged',
    params,
    body: UpdateWebhookBody(receiverAddress(writes)),
    responses: { 200: { description: 'The subscription after the change', data: z.strictObject(Shown) } },
    handle: async ({ params: { id }, body, request }) => {
      const subscriptionId = idOf(id);
      // Before the write: the client must learn about a write that is done.
      const health = await writes.healthOf(request.principal.customerId, subscriptionId);
      const subscription = await updateSubscription(writes, subscriptionId, body, request);
      return { status: 200, data: { subscription: webhookSubscriptionResource(subscription, health) } };
    },
  });

const deleteRoute = (writes: WebhookRoutes): Route =>
  route({
    ...write,
    method: 'delete',
    path: onePath,
    operationId: 'deleteWebhookSubscription',
    summary: 'Delete a webhook subscription and its secret: nothing more is delivered.',
    params,
    responses: {
      200: { description: 'Deleted', data: z.strictObject({ success: z.literal(true), id: z.string() }) },
    },
    handle: async ({ params: { id }, request }) => {
      await deleteSubscription(writes, idOf(id), request);
      return { status: 200, data: { success: true, id } };
    },
  });

const rotateRoute = (writes: WebhookRoutes): Route =>
  route({
    ...write,
    method: 'post',
    path: `${onePath}/rotate-secret`,
    operationId: 'rotateWebhookSecret',
    description:
      'Deliveries are signed with both secrets until `previousSecretUntil`, so that receivers can ' +
      'change over.',
    summary:
      'Replace the signing secret. Until the overlap ends, deliveries are signed with both; then the old one is deleted.',
    params,
    body: RotateSecretBody,
    bodyIsSecret: true,
    answerIsSecret: true,
    responses: {
      200: {
        description: 'The new secret',
        data: z.strictObject({
          id: z.string(),
          secret: NewSecret,
          previousSecretUntil: Timestamp.meta({ description: 'End of the overlap.' }),
        }),
      },
    },
    handle: async ({ params: { id }, body, request }) => {
      const { subscription, secret } = await rotateSecret(writes, idOf(id), body, request);
      const previousSecretUntil = subscription.previousSecret?.until;
      return { status: 200, data: { id, secret, previousSecretUntil } };
    },
  });

const testRoute = (writes: WebhookRoutes): Route =>
  route({
    ...write,
    method: 'post',
    path: `${onePath}/test`,
    operationId: 'testWebhookSubscription',
    summary: 'Deliver an example of a kind of event to this subscription, regardless of its filters',
    params,
    body: TestWebhookBody,
    responses: {
      202: {
        description: 'Requested; the delivery follows',
        data: z.strictObject({ deliveryId: z.string() }),
      },
    },
    handle: async ({ params: { id }, body: { type: kind }, request }) => {
      const subscriptionId = idOf(id);
      const wanted = { type: 'WebhookTestRequested', data: { kind } } as const;
      await requestDeliveries(writes, subscriptionId, wanted, request);
      const notificationId = notificationIdOf(eventIdOf(request.commandId, 0), 0);
      return {
        status: 202,
        data: { deliveryId: shownDeliveryId(derivedId(notificationId, subscriptionId)) },
      };
    },
  });

const redeliverRoute = (writes: WebhookRoutes): Route =>
  route({
    ...write,
    method: 'post',
    path: `${onePath}/deliveries/{deliveryId}/redeliver`,
    operationId: 'redeliverWebhook',
    summary: 'Deliver again, with up to ten new attempts, also what was delivered before',
    params: params.extend({ deliveryId: pathTextId('delivery') }),
    responses: { 202: { description: 'Requested', data: z.strictObject({ id: z.string() }) } },
    handle: async ({ params: { id, deliveryId: shownId }, request }) => {
      const { customerId } = request.principal;
      const { subscriptionId } = await loadSubscription(writes, customerId, idOf(id));
      const deliveryId = deliveryIdOf(shownId);
      if (deliveryId === undefined || !(await writes.isDelivery(customerId, subscriptionId, deliveryId))) {
        throw notFound('delivery');
      }
      const wanted = { type: 'WebhookRedeliveryRequested', data: { deliveryId } } as const;
      await requestDeliveries(writes, subscriptionId, wanted, request);
      return { status: 202, data: { id: shownId } };
    },
  });

const DAY_MS = 86_400_000;

/** @throws ApiError VALIDATION_ERROR */
const requirePast = (field: string, sinceMs: number, nowMs: number): void => {
  if (sinceMs > nowMs) throw invalid(`${field} is in the future. Give an earlier time.`, field);
  if (sinceMs < nowMs - KEPT_DAYS * DAY_MS) {
    throw invalid(`${field} is more than ${KEPT_DAYS} days ago. Give a later time.`, field);
  }
};

const recoverRoute = (writes: WebhookRoutes): Route =>
  route({
    ...write,
    method: 'post',
    path: `${onePath}/recover`,
    operationId: 'recoverWebhookDeliveries',
    summary: 'Deliver again all that failed or was canceled since a time',
    params,
    body: RecoverWebhookBody,
    responses: { 202: { description: 'Requested', data: z.strictObject({ id: z.string() }) } },
    handle: async ({ params: { id }, body, request }) => {
      requirePast('since', body.since, writes.clock.now());
      const since = isoTimestamp(body.since);
      const wanted = { type: 'WebhookRecoveryRequested', data: { since } } as const;
      await requestDeliveries(writes, idOf(id), wanted, request);
      return { status: 202, data: { id } };
    },
  });

const REPLAYED_MAX = 100_000;

const replayRoute = (writes: WebhookRoutes): Route =>
  route({
    ...write,
    method: 'post',
    path: `${onePath}/replay`,
    operationId: 'replayWebhookEvents',
    summary: `Deliver all events of a period, also those delivered before or never; at most ${REPLAYED_MAX.toLocaleString('en')} at once, with those that wait`,
    params,
    body: ReplayWebhookBody,
    responses: {
      202: { description: 'Requested', data: z.strictObject({ replayId: z.uuid() }) },
    },
    handle: async ({ params: { id }, body, request }) => {
      const subscription = await loadSubscription(writes, request.principal.customerId, idOf(id));
      const period = await replayedPeriod(writes, subscription, body, request);
      const replayId = derivedId(request.commandId, 'webhook-replay');
      const wanted = { type: 'WebhookReplayRequested', data: { ...period, replayId } } as const;
      await requestDeliveries(writes, subscription.subscriptionId, wanted, request);
      return { status: 202, data: { replayId } };
    },
  });

/**
 * @throws ApiError VALIDATION_ERROR for a period that is empty, too old, or has too many events, CONFLICT while too many
 *   deliveries wait
 */
const replayedPeriod = async (
  writes: WebhookRoutes,
  subscription: Awaited<ReturnType<typeof loadSubscription>>,
  body: z.output<typeof ReplayWebhookBody>,
  request: RequestContext,
): Promise<{ since: string; until: string; eventTypes: string[] }> => {
  const { clock, countNotifications } = writes;
  const nowMs = clock.now();
  const { until = nowMs } = body;
  requirePast('since', body.since, nowMs);
  if (until > nowMs) throw invalid('until is in the future. Give an earlier time, or leave it out.', 'until');
  if (until <= body.since) throw invalid('until is not after since. Give a later time.', 'until');
  const { customerId, advertiserIds, eventTypes } = subscription;
  const times = { since: isoTimestamp(body.since), until: isoTimestamp(until) };
  const wanted = [...(body.eventTypes ?? eventTypes)];
  const period = { ...times, kinds: kindsMatching(wanted), advertiserIds };
  const count = await countNotifications(customerId, period, REPLAYED_MAX + 1);
  if (count <= REPLAYED_MAX) {
    await requireFewWaiting(writes, subscription, count, request);
    return { ...times, eventTypes: wanted };
  }
  throw new ApiError({
    code: 'VALIDATION_ERROR',
    message: `The period has more than ${REPLAYED_MAX} matching events. Replay a shorter period, or fewer kinds.`,
    field: 'since',
    details: { limit: REPLAYED_MAX },
  });
};

/** Each replay makes further rows, so repeating one would have no limit. @throws ApiError CONFLICT */
const requireFewWaiting = async (
  writes: WebhookRoutes,
  { customerId, subscriptionId }: Awaited<ReturnType<typeof loadSubscription>>,
  count: number,
  request: RequestContext,
): Promise<void> => {
  const waiting = await writes.countWaiting(customerId, subscriptionId, REPLAYED_MAX);
  if (count === 0 || count + waiting <= REPLAYED_MAX) return;
  // Those that wait may be its own.
  if ((await subscriptionDoneBefore(writes, subscriptionId, request)) !== undefined) return;
  throw new ApiError({
    code: 'CONFLICT',
    message: `${waiting} deliveries of the subscription wait, and the period has ${count} events: together more than ${REPLAYED_MAX}. Replay when fewer wait, or a shorter period.`,
    details: { limit: REPLAYED_MAX, waiting, events: count },
  });
};
