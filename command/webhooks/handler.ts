import type { WebhookSubscription } from '../../domain/webhooks/resource.ts';
import {
  webhookSubscriptionAggregate,
  type WebhookRefusal,
} from '../../domain/webhooks/webhook-subscription.ts';
import { handlerFor, type CommandStores } from '../../shared/aggregate/handler-for.ts';
import type { Clock } from '../../shared/async/clock.ts';
import { alreadyExists, ApiError, conflict, notFound } from '../../shared/http/errors.ts';
import { refusals } from '../../shared/http/refusals.ts';

const webhookRefused = refusals<WebhookRefusal>({
  'not-found': () => notFound('webhook subscription'),
  'already-exists': () => alreadyExists('webhook subscription'),
  'not-active': () =>
    conflict('The subscription is not active, so it delivers nothing. Set its status to active first.'),
  failed: () =>
    conflict(
      'The subscription has failed, so it delivers nothing already. Set its status to active, or leave the status out.',
      'status',
    ),
  'rotation-running': ({ until }) =>
    new ApiError({
      code: 'CONFLICT',
      message: `Deliveries are signed with the secret before the last rotation, too, until ${until}. Rotate after that, or send force: true to end its use now.`,
      field: 'force',
      details: { previousSecretUntil: until },
    }),
});

export const {
  run: runOnSubscription,
  create: createWebhookSubscription,
  execute: executeOnSubscription,
  doneBefore: subscriptionDoneBefore,
  load: loadSubscriptionOfAnyTime,
} = handlerFor(webhookSubscriptionAggregate, webhookRefused);

/** Those that sign deliveries: two during the overlap of a rotation. */
export const secretsOfSubscription = async (
  { clock, ...stores }: CommandStores & { readonly clock: Clock },
  customerId: number,
  subscriptionId: string,
): Promise<readonly string[]> => {
  const found = await loadSubscriptionOfAnyTime(stores, customerId, subscriptionId);
  if (found === undefined || found.status === 'deleted') return [];
  const { secretId, previousSecret } = found;
  const overlaps = previousSecret !== undefined && Date.parse(previousSecret.until) > clock.now();
  return overlaps ? [secretId, previousSecret.secretId] : [secretId];
};

/** @throws ApiError NOT_FOUND */
export const loadSubscription = async (
  stores: CommandStores,
  customerId: number,
  subscriptionId: string,
): Promise<WebhookSubscription> => {
  const subscription = await loadSubscriptionOfAnyTime(stores, customerId, subscriptionId);
  if (subscription === undefined || subscription.status === 'deleted') {
    throw webhookRefused({ reason: 'not-found' });
  }
  return subscription;
};
