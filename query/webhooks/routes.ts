import { z } from 'zod';
import {
  DeliveryState,
  WebhookAttempt,
  WebhookDelivery,
  deliveryIdOf,
} from '../../domain/webhooks/delivery-resource.ts';
import {
  webhookIdOf,
  webhookSubscriptionResource,
  WebhookSubscriptionResource,
  type WebhookSubscription,
} from '../../domain/webhooks/resource.ts';
import { boundedText, instant } from '../../domain/values.ts';
import { isoTimestamp } from '../../shared/async/clock.ts';
import { notFound } from '../../shared/http/errors.ts';
import { declaration, route, type Route } from '../../shared/http/route.ts';
import { cursorLimitOf, cursorParameters, pathTextId } from '../../shared/http/schemas.ts';
import type { ListCursors } from '../resources/list-cursor.ts';
import { stateReader, type RowReads } from '../resources/read-row.ts';
import { buyer } from '../resources/resource-paths.ts';
import { refuseIfBehind } from '../resources/refuse-if-behind.ts';
import { findDeliveries, findDelivery } from './deliveries.ts';
import { findWebhookHealth } from './health.ts';
import { listSubscriptions, webhookRows } from './list.ts';

export interface WebhookReads extends RowReads {
  readonly cursors: ListCursors;
}

const path = `${buyer}/webhook-subscriptions`;
const tag = 'Webhooks';
const LIMIT_MAX = 200;

export const webhookPlace = {
  path: `${path}/{id}`,
  params: z.object({ id: pathTextId('webhook subscription') }),
  tag,
};

export const webhookReadRoutes = (reads: WebhookReads): readonly Route[] => {
  const find = subscriptionFinder(reads);
  return [
    listRoute(reads),
    detailRoute(reads, find),
    deliveriesRoute(reads, find),
    deliveryRoute(reads, find),
  ];
};

type FindSubscription = (customerId: number, shownId: string) => Promise<WebhookSubscription>;

/** @throws ApiError NOT_FOUND */
const subscriptionFinder = (reads: RowReads): FindSubscription => {
  const read = stateReader(reads, webhookRows);
  return async (customerId, shownId) => {
    const id = webhookIdOf(shownId);
    const found = id === undefined ? undefined : await read(customerId, id);
    if (found === undefined || found.status === 'deleted') throw notFound('webhook subscription');
    return found;
  };
};

export const webhookList = declaration({
  method: 'get',
  path,
  operationId: 'listWebhookSubscriptions',
  summary: 'All webhook subscriptions of the account, newest first',
  tag,
  access: 'exchange:read',
});

const listRoute = (reads: WebhookReads): Route =>
  route({
    ...webhookList,
    responses: {
      200: {
        description: 'At most 50',
        data: z.strictObject({ subscriptions: z.array(WebhookSubscriptionResource) }),
      },
    },
    handle: async ({ request }) => {
      const subscriptions = await listSubscriptions(reads, request.principal.customerId).catch(
        refuseIfBehind,
      );
      return { status: 200, data: { subscriptions } };
    },
  });

export const webhookRead = declaration({
  ...webhookPlace,
  method: 'get',
  operationId: 'getWebhookSubscription',
  summary: 'One webhook subscription',
  access: 'exchange:read',
});

const detailRoute = (reads: WebhookReads, find: FindSubscription): Route =>
  route({
    ...webhookRead,
    responses: {
      200: {
        description: 'The subscription',
        data: z.strictObject({ subscription: WebhookSubscriptionResource }),
      },
    },
    handle: async ({ params: { id }, request }) => {
      const { customerId } = request.principal;
      const found = await find(customerId, id);
      const [health] = await findWebhookHealth(reads.database, customerId, [found.subscriptionId]);
      return { status: 200, data: { subscription: webhookSubscriptionResource(found, health) } };
    },
  });

const deliveriesRoute = (reads: WebhookReads, find: FindSubscription): Route =>
  route({
    method: 'get',
    path: `${webhookPlace.path}/deliveries`,
    operationId: 'listWebhookDeliveries',
    summary:
      'The deliveries of the last 30 days, newest first. A page may hold fewer than `limit` although another follows: go on while `nextCursor` is there.',
    tag,
    access: 'exchange:read',
    params: webhookPlace.params,
    query: z.object({
      state: DeliveryState.optional(),
      type: boundedText(1, 100).optional().meta({ description: 'Kind of the event.' }),
      since: instant().optional().meta({ description: 'Only deliveries that were created since then.' }),
      ...cursorParameters(LIMIT_MAX),
    }),
    responses: {
      200: {
        description: 'One page',
        data: z.strictObject({
          deliveries: z.array(WebhookDelivery),
          nextCursor: z.string().optional().meta({ description: 'Absent on the last page.' }),
        }),
      },
    },
    handle: async ({ params: { id }, query: { state, type, since, ...page }, request }) => {
      const { customerId } = request.principal;
      const { subscriptionId } = await find(customerId, id);
      const list = `deliveries of ${subscriptionId}`;
      const { cursor } = page;
      const after = cursor === undefined ? undefined : await reads.cursors.read(customerId, list, cursor);
      const { deliveries, next } = await findDeliveries(
        reads.database,
        customerId,
        subscriptionId,
        { state, type, since: since === undefined ? undefined : isoTimestamp(since) },
        after,
        cursorLimitOf(page),
      );
      const nextCursor = next && (await reads.cursors.of(customerId, list, next));
      return { status: 200, data: { deliveries, nextCursor } };
    },
  });

const deliveryRoute = (reads: WebhookReads, find: FindSubscription): Route =>
  route({
    method: 'get',
    path: `${webhookPlace.path}/deliveries/{deliveryId}`,
    operationId: 'getWebhookDelivery',
    summary: 'One delivery with its last 100 attempts',
    tag,
    access: 'exchange:read',
    params: webhookPlace.params.extend({ deliveryId: pathTextId('delivery') }),
    responses: {
      200: {
        description: 'The delivery',
        data: z.strictObject({ delivery: WebhookDelivery, attempts: z.array(WebhookAttempt) }),
      },
    },
    handle: async ({ params, request }) => {
      const { customerId } = request.principal;
      const { subscriptionId } = await find(customerId, params.id);
      const id = deliveryIdOf(params.deliveryId);
      const found =
        id === undefined ? undefined : await findDelivery(reads.database, customerId, subscriptionId, id);
      if (found === undefined) throw notFound('delivery');
      return { status: 200, data: found };
    },
  });
