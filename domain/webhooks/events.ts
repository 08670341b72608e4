import { z } from 'zod';
import type { EventsOf } from '../decision.ts';
import { Timestamp } from '../values.ts';

export const WebhookPayload = z.enum(['thin', 'full']);
export type WebhookPayload = z.infer<typeof WebhookPayload>;

export const WebhookAuthentication = z.enum(['none', 'bearer']);
export type WebhookAuthentication = z.infer<typeof WebhookAuthentication>;

/** What a subscriber sets. */
const Definition = z.object({
  url: z.string(),
  /** Kinds of notifications, `<resource>.*` or `*`. */
  eventTypes: z.array(z.string()),
  /** Absent: all advertisers of the account, and what belongs to none. */
  advertiserIds: z.array(z.int()).optional(),
  payload: WebhookPayload,
  authentication: WebhookAuthentication,
  description: z.string().optional(),
});

const WebhookSubscriptionCreated = Definition.extend({
  subscriptionId: z.uuid(),
  customerId: z.int(),
  /** Refers to the encrypted signing secret. */
  secretId: z.uuid(),
});

/** `advertiserIds: null`: all advertisers. `description: null`: none. */
const WebhookSubscriptionUpdated = z.object({
  changes: Definition.partial().extend({
    advertiserIds: z.array(z.int()).nullable().optional(),
    description: z.string().nullable().optional(),
  }),
});

/** Until `overlapUntil`, deliveries carry signatures with both secrets. */
const WebhookSecretRotated = z.object({
  secretId: z.uuid(),
  previousSecretId: z.uuid(),
  overlapUntil: Timestamp,
});

/** `gone`: the endpoint answered 410. `failing`: nothing succeeded for too long. */
const WebhookSubscriptionDisabled = z.object({
  reason: z.enum(['gone', 'failing']),
  /** A sentence for the subscriber. */
  message: z.string(),
});

const Period = z.object({ since: Timestamp, until: Timestamp });
const nothingMore = z.object({});

export const webhookEvents = {
  WebhookSubscriptionCreated: { schemaVersion: 1, data: WebhookSubscriptionCreated },
  WebhookSubscriptionUpdated: { schemaVersion: 1, data: WebhookSubscriptionUpdated },
  WebhookSecretRotated: { schemaVersion: 1, data: WebhookSecretRotated },
  /** By the subscriber: deliveries wait, at most seven days. */
  WebhookSubscriptionPaused: { schemaVersion: 1, data: nothingMore },
  /** By the service: what happens until it is enabled again is not delivered, but can be replayed. */
  WebhookSubscriptionDisabled: { schemaVersion: 1, data: WebhookSubscriptionDisabled },
  /** Ends a pause or the disabling. */
  WebhookSubscriptionEnabled: { schemaVersion: 1, data: nothingMore },
  WebhookSubscriptionDeleted: { schemaVersion: 1, data: nothingMore },
  WebhookTestRequested: { schemaVersion: 1, data: z.object({ kind: z.string() }) },
  WebhookRedeliveryRequested: { schemaVersion: 1, data: z.object({ deliveryId: z.uuid() }) },
  /** All failed deliveries of events since then are tried again. */
  WebhookRecoveryRequested: { schemaVersion: 1, data: z.object({ since: Timestamp }) },
  /** All notifications of the period are delivered, whether or not they were before. */
  WebhookReplayRequested: {
    schemaVersion: 1,
    data: Period.extend({ replayId: z.uuid(), eventTypes: z.array(z.string()) }),
  },
} as const;

export type WebhookEvent = EventsOf<typeof webhookEvents>;
