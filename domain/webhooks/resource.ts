import { z } from 'zod';
import { changeable, clearable, derived, membersOf, resourceShape } from '../fields.ts';
import { shownIds } from '../shown-id.ts';
import { Timestamp } from '../values.ts';
import { WebhookAuthentication, WebhookPayload } from './events.ts';

/** The signing secret is shown once, in the answer of the request that made it. */
export const webhookFields = {
  id: derived(z.string()),
  url: changeable(z.string()),
  eventTypes: changeable(
    z.array(z.string()).meta({ description: 'Kinds of events, `<resource>.*`, or `*` for all.' }),
  ),
  advertiserIds: clearable(
    z.array(z.int()).meta({
      description: 'Only events of these advertisers. Absent: all events of the account.',
    }),
  ),
  payload: changeable(
    WebhookPayload.meta({
      description:
        '`thin`: what changed, with a link to the exact state. `full`: also the resource, if the body stays below 10,000 bytes.',
    }),
    'thin',
  ),
  authentication: changeable(
    WebhookAuthentication.meta({
      description: '`bearer`: deliveries also carry the secret as `Authorization: Bearer`.',
    }),
    'none',
  ),
  description: clearable(z.string()),
  status: derived(
    z.enum(['active', 'inactive', 'failed']).meta({
      description:
        'Only an `active` subscription delivers. Set it to `active` to enable the subscription again.',
    }),
  ),
  statusReason: derived(
    z.enum(['paused', 'gone', 'failing']).optional().meta({
      description:
        'Absent while `active`. `paused`: by a request. `gone`: the endpoint answered 410. `failing`: nothing was delivered for too long.',
    }),
  ),
  statusMessage: derived(z.string().optional().meta({ description: 'The reason as a sentence.' })),
  failureCount: derived(
    z.int().optional().meta({
      description: 'Failed attempts since the last success. Absent in answers about the past.',
    }),
  ),
  lastSuccess: derived(Timestamp.optional().meta({ description: 'When an attempt last succeeded.' })),
  lastFailure: derived(Timestamp.optional().meta({ description: 'When an attempt last failed.' })),
  previousSecretUntil: derived(
    Timestamp.optional().meta({
      description:
        'Until then, deliveries are also signed with the secret before the last rotation. Absent: never rotated.',
    }),
  ),
  createdAt: derived(Timestamp),
  updatedAt: derived(Timestamp),
};

export const WebhookSubscriptionResource = z
  .strictObject(resourceShape(webhookFields))
  .meta({ id: 'WebhookSubscription' });
export type WebhookSubscriptionResource = z.infer<typeof WebhookSubscriptionResource>;

export type DisabledReason = 'gone' | 'failing';

export interface WebhookSubscription {
  readonly subscriptionId: string;
  readonly customerId: number;
  readonly url: string;
  readonly eventTypes: readonly string[];
  readonly advertiserIds?: readonly number[] | undefined;
  readonly payload: WebhookPayload;
  readonly authentication: WebhookAuthentication;
  readonly description?: string | undefined;
  readonly secretId: string;
  readonly previousSecret?: { readonly secretId: string; readonly until: string } | undefined;
  readonly status: 'active' | 'paused' | 'disabled' | 'deleted';
  readonly disabled?: { readonly reason: DisabledReason; readonly message: string } | undefined;
  readonly createdAt: string;
  readonly updatedAt: string;
}

/** How deliveries went, which the log does not contain. */
export type WebhookHealth = Pick<WebhookSubscriptionResource, 'failureCount' | 'lastSuccess' | 'lastFailure'>;

export const webhookSubscriptionResource = (
  { eventTypes, advertiserIds, previousSecret, ...subscription }: WebhookSubscription,
  health: WebhookHealth = {},
): WebhookSubscriptionResource => {
  const { status, disabled } = subscription;
  return membersOf(WebhookSubscriptionResource, {
    ...subscription,
    ...health,
    ...statusOf({ status, disabled }),
    id: shownWebhookId(subscription.subscriptionId),
    eventTypes: [...eventTypes],
    advertiserIds: advertiserIds && [...advertiserIds],
    previousSecretUntil: previousSecret?.until,
  });
};

type ShownStatus = Pick<WebhookSubscriptionResource, 'status'> & {
  readonly statusReason: WebhookSubscriptionResource['statusReason'];
  readonly statusMessage: string | undefined;
};

const statusOf = ({ status, disabled }: Pick<WebhookSubscription, 'status' | 'disabled'>): ShownStatus => {
  if (disabled !== undefined) {
    const { reason: statusReason, message: statusMessage } = disabled;
    return { status: statusReason === 'gone' ? 'inactive' : 'failed', statusReason, statusMessage };
  }
  if (status === 'active') return { status, statusReason: undefined, statusMessage: undefined };
  return {
    status: 'inactive',
    statusReason: 'paused',
    statusMessage:
      'Paused by a request. Deliveries wait for at most seven days; set the status to active to send them.',
  };
};

const ids = shownIds('whs_');
export const shownWebhookId = ids.shown;
export const webhookIdOf = ids.idOf;
