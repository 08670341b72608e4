import { z } from 'zod';
import { shownIds } from '../shown-id.ts';
import { Timestamp } from '../values.ts';

export const DeliveryState = z.enum(['due', 'delivered', 'failed', 'canceled']).meta({
  description:
    '`due`: an attempt follows. `failed`: after the last attempt. `canceled`: the subscription was not active any more, or paused for too long.',
});
export type DeliveryState = z.infer<typeof DeliveryState>;

const result = {
  responseStatus: z.int().optional().meta({ description: 'HTTP status of the answer; absent without one.' }),
  error: z
    .string()
    .optional()
    .meta({ description: 'Why the attempt failed, e.g. `timeout`, `tls`, `connect` or `status`.' }),
};

export const WebhookDelivery = z
  .strictObject({
    id: z.string(),
    messageId: z.string().meta({
      description: '`webhook-id` of the request: the same for each attempt and each subscription.',
    }),
    type: z.string(),
    state: DeliveryState,
    attemptCount: z.int(),
    createdAt: Timestamp,
    nextAttemptAt: Timestamp.optional().meta({ description: 'Present while `due`.' }),
    firstAttemptAt: Timestamp.optional().meta({ description: 'Since the last redelivery.' }),
    lastAttemptAt: Timestamp.optional(),
    ...result,
  })
  .meta({ id: 'WebhookDelivery' });
export type WebhookDelivery = z.infer<typeof WebhookDelivery>;

export const WebhookAttempt = z
  .strictObject({
    attempt: z.int().meta({ description: 'From 1; redeliveries count on.' }),
    startedAt: Timestamp,
    durationMs: z.int(),
    ...result,
    responseHead: z.string().optional().meta({
      description: 'The first 1,000 bytes of the answer as text. Not trusted: the endpoint wrote it.',
    }),
  })
  .meta({ id: 'WebhookAttempt' });
export type WebhookAttempt = z.infer<typeof WebhookAttempt>;

const ids = shownIds('dlv_');
export const shownDeliveryId = ids.shown;
export const deliveryIdOf = ids.idOf;
