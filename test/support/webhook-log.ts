import { randomUUID } from 'node:crypto';
import type { Pool } from 'pg';
import { commitBatch } from '../../projections/engine/commit-batch.ts';
import { openCheckpoint } from '../../projections/engine/checkpoint.ts';
import type { Projection } from '../../projections/engine/projection.ts';
import { webhookFanOut } from '../../projections/webhook-fan-out.ts';
import { printPosition } from '../../shared/event-store/dense-position.ts';
import {
  comparePositions,
  isWanted,
  type EventStore,
  type JsonObject,
  type RecordedEvent,
} from '../../shared/event-store/event-store.ts';

/** A log in memory with valid events of subscriptions, and of resources that make notifications. */
export interface WebhookLog {
  readonly events: readonly RecordedEvent[];
  readonly append: (event: {
    readonly customerId: number;
    readonly stream: string;
    readonly type: string;
    readonly data?: JsonObject;
    readonly occurredAt?: string;
    readonly id?: string;
  }) => RecordedEvent;
}

export const createWebhookLog = (): WebhookLog => {
  const events: RecordedEvent[] = [];
  const revisions = new Map<string, number>();
  return {
    events,
    append: ({
      customerId,
      stream,
      type,
      data = {},
      occurredAt = new Date().toISOString(),
      id = randomUUID(),
    }) => {
      const revision = (revisions.get(stream) ?? -1) + 1;
      revisions.set(stream, revision);
      const event: RecordedEvent = {
        id,
        stream,
        type,
        data,
        revision,
        position: printPosition(events.length + 1),
        recordedAt: occurredAt,
        metadata: {
          customerId,
          actor: 'test',
          requestId: 'r',
          correlationId: 'c',
          causationId: 'c',
          occurredAt,
          schemaVersion: 1,
        },
      };
      events.push(event);
      return event;
    },
  };
};

export interface AccountEvents {
  readonly customerId: number;
  /** `advertiser.archived`: the stream names the advertiser. */
  readonly archiveAdvertiser: (advertiserId: number) => RecordedEvent;
  readonly restoreAdvertiser: (advertiserId: number) => RecordedEvent;
  /** `campaign.created`, with the advertiser in its data; later events do not name it. */
  readonly createCampaign: (campaignId: string, advertiserId: number) => RecordedEvent;
  /** `campaign.phase_changed`. */
  readonly pauseCampaign: (campaignId: string) => RecordedEvent;
  /** `event_source.health_changed`, unless `before` is undefined. */
  readonly logConversions: (
    sourceId: string,
    advertiserId: number,
    before: 'not_seen' | 'needs_attention' | undefined,
  ) => RecordedEvent;
  readonly subscribe: (subscriptionId: string, definition?: JsonObject) => RecordedEvent;
  /** An event of the subscription without its prefix: `Paused`, `Deleted`. */
  readonly change: (subscriptionId: string, type: string, data?: JsonObject) => RecordedEvent;
  readonly access: (type: 'AccountDisabled' | 'AccountEnabled') => RecordedEvent;
}

export const accountIn = ({ append }: WebhookLog, customerId: number): AccountEvents => ({
  customerId,
  archiveAdvertiser: (id) =>
    append({ customerId, stream: `advertiser-${customerId}-${id}`, type: 'AdvertiserArchived' }),
  restoreAdvertiser: (id) =>
    append({ customerId, stream: `advertiser-${customerId}-${id}`, type: 'AdvertiserRestored' }),
  createCampaign: (campaignId, advertiserId) =>
    append({
      customerId,
      stream: `campaign-${customerId}-${campaignId}`,
      type: 'CampaignCreated',
      data: { campaignId, customerId, advertiserId, name: 'Spring', currency: 'EUR' },
    }),
  pauseCampaign: (id) =>
    append({ customerId, stream: `campaign-${customerId}-${id}`, type: 'CampaignPaused' }),
  logConversions: (sourceId, advertiserId, before) =>
    append({
      customerId,
      stream: `conversions-${customerId}-${sourceId}`,
      type: 'ConversionsLogged',
      data: {
        advertiserId,
        chunk: 0,
        last: true,
        rejected: 0,
        health: 'receiving',
        ...(before && { healthChange: { before, eventSourceId: `shop-${sourceId}` } }),
        eventIds: ['a'],
        eventTimes: [1],
        eventTypes: { of: ['purchase'] },
      },
    }),
  subscribe: (subscriptionId, definition = {}) =>
    append({
      customerId,
      stream: `webhook-${customerId}-${subscriptionId}`,
      type: 'WebhookSubscriptionCreated',
      data: {
        subscriptionId,
        customerId,
        secretId: randomUUID(),
        url: 'https://hooks.example.com/',
        eventTypes: ['*'],
        payload: 'thin',
        authentication: 'none',
        ...definition,
      },
    }),
  change: (subscriptionId, type, data = {}) =>
    append({
      customerId,
      stream: `webhook-${customerId}-${subscriptionId}`,
      type: `Webhook${type}`,
      data,
    }),
  access: (type) => append({ customerId, stream: `account-${customerId}`, type }),
});

/** Applies what the checkpoint has not passed yet, as the engine does. @param sizes of the batches, repeated */
export const projectLog = async (
  pool: Pool,
  { events }: Pick<WebhookLog, 'events'>,
  sizes: readonly number[] = [1_000],
  projection: Projection = webhookFanOut,
): Promise<void> => {
  let checkpoint = await openCheckpoint(pool, projection.name);
  const { position } = checkpoint;
  let rest = events.filter((event) => comparePositions(event.position, position) > 0);
  for (let n = 0; rest.length > 0; n += 1) {
    const batch = rest.slice(0, sizes[n % sizes.length]);
    rest = rest.slice(batch.length);
    const last = batch.at(-1)?.position ?? checkpoint.position;
    const own = batch.filter((event) => isWanted(projection, event));
    ({ checkpoint } = await commitBatch(pool, projection, checkpoint, {
      events: own,
      position: last,
      caughtUp: rest.length === 0,
    }));
  }
};

/** One after the other, so that the store's order is theirs. */
export const appendTo = async (
  store: Pick<EventStore, 'append'>,
  events: readonly RecordedEvent[],
): Promise<void> => {
  for (const { stream, revision, position: _position, recordedAt: _recordedAt, ...event } of events) {
    await store.append(stream, [event], revision === 0 ? 'no-stream' : revision - 1);
  }
};
