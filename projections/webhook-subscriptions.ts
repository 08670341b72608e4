import { webhookSubscriptionFold } from '../domain/webhooks/webhook-subscription.ts';
import { foldedReadModel } from './folded-read-model.ts';

export const webhookSubscriptionsProjection = foldedReadModel({
  ...webhookSubscriptionFold,
  name: 'webhook-subscriptions',
  table: 'webhook_subscriptions',
  live: (state) => (state.status === 'none' ? undefined : state),
  place: ({ customerId, subscriptionId }) => ({ customerId, id: subscriptionId }),
  columns: [
    // The status that lists filter by: they show paused and disabled ones, too.
    { name: 'status', type: 'text', value: ({ status }) => (status === 'deleted' ? status : 'live') },
    { name: 'created_at', type: 'timestamptz', value: ({ createdAt }) => createdAt, isFixed: true },
  ],
});
