import { allEvents } from '../domain/all-events.ts';
import type { KeptNotification } from '../domain/notifications/body.ts';
import { isNotified, notificationsOf } from '../domain/notifications/notifications-of.ts';
import { notificationIdOf } from '../shared/aggregate/ids.ts';
import { categoryOf, type RecordedEvent } from '../shared/event-store/event-store.ts';
import { decodeEvent, type EventSchemas } from './engine/decode-event.ts';
import { UnprojectableEventError } from './engine/projection.ts';

const schemasOf = new Map(
  allEvents.map(({ category, events }): readonly [string, EventSchemas] => [category, events]),
);

export interface EventNotification extends KeptNotification {
  readonly event: RecordedEvent;
  readonly idx: number;
}

/** Without the advertiser (`advertisersOfStreams`). @throws UnprojectableEventError, also for an unknown type */
export const notificationsIn = (event: RecordedEvent): readonly EventNotification[] => {
  const { stream, revision, metadata } = event;
  const category = categoryOf(stream);
  const start = `${category}-${metadata.customerId}`;
  // The stream name decides the account: no event may write another account's rows.
  if (stream !== start && !stream.startsWith(`${start}-`)) {
    throw new UnprojectableEventError(event, `the stream does not belong to account ${metadata.customerId}`);
  }
  const schemas = schemasOf.get(category) ?? {};
  if (!isNotified(event) && Object.hasOwn(schemas, event.type)) return [];
  const { type, data } = decodeEvent(event, schemas);
  return notificationsOf({ stream, type, data: data as Readonly<Record<string, unknown>>, revision }).map(
    (notification, idx) => ({
      ...notification,
      id: notificationIdOf(event.id, idx),
      advertiserId: undefined,
      occurredAt: metadata.occurredAt,
      event,
      idx,
    }),
  );
};
