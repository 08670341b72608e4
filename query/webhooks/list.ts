import {
  webhookSubscriptionResource,
  type WebhookSubscription,
  type WebhookSubscriptionResource,
} from '../../domain/webhooks/resource.ts';
import { webhookSubscriptionFold } from '../../domain/webhooks/webhook-subscription.ts';
import { findResources, type ResourceReads } from '../resources/resource-reads.ts';
import { findWebhookHealth } from './health.ts';

export const webhookRows = {
  ...webhookSubscriptionFold,
  readModel: 'webhook-subscriptions',
  table: 'webhook_subscriptions',
};

/** All that are not deleted, at most 50; newest first. @throws ReadModelBehindError */
export const listSubscriptions = async (
  reads: ResourceReads,
  customerId: number,
): Promise<readonly WebhookSubscriptionResource[]> => {
  const found = await findResources<WebhookSubscription>(reads, webhookRows, customerId, {
    name: 'live',
    sql: (parameter) => `r.status = ${parameter}`,
    value: 'live',
  });
  const health = await findWebhookHealth(
    reads.database,
    customerId,
    found.map(({ subscriptionId }) => subscriptionId),
  );
  return found.map((one, n) => webhookSubscriptionResource(one, health[n]));
};
