import {
  shownWebhookId,
  webhookIdOf,
  webhookSubscriptionResource,
  type WebhookSubscription,
} from '../../domain/webhooks/resource.ts';
import {
  webhookSubscriptionFold,
  webhookSubscriptionStream,
} from '../../domain/webhooks/webhook-subscription.ts';
import { auditedKind } from '../resources/audited-kind.ts';
import { byShownId, each, lastFirst, streamsByShownId } from '../resources/resource-paths.ts';
import { webhookList, webhookPlace, webhookRead } from './routes.ts';

const shown = (subscription: WebhookSubscription) => webhookSubscriptionResource(subscription);

export const webhookSubscriptionKind = auditedKind({
  ...webhookSubscriptionFold,
  resourceType: 'WEBHOOK_SUBSCRIPTION',
  noun: 'webhook subscription',
  live: (state) => (state.status === 'none' ? undefined : state),
  idOf: ({ subscriptionId }) => shownWebhookId(subscriptionId),
  streamsOf: streamsByShownId(webhookIdOf, webhookSubscriptionStream),
  audited: (subscription) =>
    subscription.status === 'deleted' ? { ...shown(subscription), status: 'deleted' } : shown(subscription),
  nameOf: ({ url }) => url,
  place: { ...webhookPlace, find: byShownId('id', webhookIdOf, webhookSubscriptionStream) },
  details: [
    {
      route: webhookRead,
      shown: (subscription) =>
        subscription.status === 'deleted' ? undefined : { subscription: shown(subscription) },
    },
  ],
  lists: [
    {
      route: webhookList,
      shown: each(shown),
      keeps: ({ status }) => status !== 'deleted',
      order: lastFirst(
        ({ createdAt }) => createdAt,
        ({ subscriptionId }) => subscriptionId,
      ),
      data: ({ items }) => ({ subscriptions: items }),
    },
  ],
});
