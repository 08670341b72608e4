import { HOUR_MS, timeOf, type Scenario } from './scenario.ts';

/** Subscribes before anything happens. @returns the id of the subscription */
export const subscribe = async ({ call, receiver }: Scenario): Promise<string> => {
  await call('listWebhookEventTypes');
  const { subscription } = await call<{ subscription: { id: string } }>('createWebhookSubscription', {
    body: { url: receiver.url, eventTypes: ['campaign.*'], description: 'Planner' },
  });
  return subscription.id;
};

interface Deliveries {
  readonly deliveries: readonly { readonly id: string; readonly state: string }[];
}

/** Waits for the deliveries: their times must not be those of later requests. @returns the id of the first */
export const receive = async ({ call, until }: Scenario, id: string): Promise<string> => {
  const path = { id };
  const { deliveries } = await until<Deliveries>(
    'listWebhookDeliveries',
    { path, query: { type: 'campaign.created' } },
    (page) => page.deliveries.length === 2 && page.deliveries.every(({ state }) => state === 'delivered'),
  );
  const deliveryId = deliveries.at(-1)?.id ?? '';
  await call('getWebhookDelivery', { path: { ...path, deliveryId } });
  return deliveryId;
};

export const repeatDeliveries = async (
  { call, startedMs }: Scenario,
  id: string,
  deliveryId: string,
): Promise<void> => {
  const path = { id };
  const delivery = { ...path, deliveryId };
  await call('redeliverWebhook', { path: delivery });
  await call('testWebhookSubscription', { path, body: { type: 'campaign.updated' } });
  const since = timeOf(startedMs - HOUR_MS);
  await call('recoverWebhookDeliveries', { path, body: { since } });
  await call('replayWebhookEvents', { path, body: { since, eventTypes: ['campaign.created'] } });
  await call('listEvents', { query: { types: 'campaign.created', take: 2 } });
  await call('streamEvents', { query: { topics: 'campaign.*', since: 'earliest' }, blocks: 2 });
};

export const administerWebhooks = async ({ call }: Scenario, id: string): Promise<void> => {
  await call('updateWebhookSubscription', {
    path: { id },
    body: { eventTypes: ['campaign.*', 'creative.*'], payload: 'full' },
  });
  await call('getWebhookSubscription', { path: { id } });
  await call('listWebhookSubscriptions');
  await call('rotateWebhookSecret', { path: { id }, body: { overlapSeconds: 3_600 } });
  await call('deleteWebhookSubscription', { path: { id } });
};
