import { z } from 'zod';
import { Timestamp } from '../values.ts';
import {
  exampleNotification,
  linksToPresent,
  notificationKinds,
  publicKinds,
  type PublicKind,
} from './kinds.ts';
import type { Notification } from './notification.ts';

/** As the feed and the messages of webhooks store it. */
export interface KeptNotification extends Notification {
  /** `notificationIdOf` */
  readonly id: string;
  readonly advertiserId: number | undefined;
  readonly occurredAt: string;
}

const data = {
  resourceType: z.string().meta({ description: 'As in the audit log, e.g. `CREATIVE`.' }),
  resourceId: z.string(),
  advertiserId: z
    .string()
    .optional()
    .meta({ description: 'Absent if the resource belongs to no advertiser.' }),
  revision: z.int().min(1).meta({
    description:
      'Revision of the resource after the event, of its stream of conversion events for `event_source.health_changed`. Ignore an event whose revision is below one that you know.',
  }),
  changed: z.array(z.string()).meta({
    description:
      'Members of the resource that the event set, without `revision` and `updatedAt`. Empty for a new resource.',
  }),
  url: z.string().optional().meta({
    description:
      'Answers with the state of the resource at this event, also after later changes; for `event_source.health_changed` with its present state. Absent if the API has no read of it.',
  }),
};

const bodyOf = <Type extends z.ZodType, Data extends z.ZodType>(type: Type, ofResource: Data) =>
  z.strictObject({
    id: z.string().meta({ description: 'The same for every delivery and read of the event.' }),
    type,
    timestamp: Timestamp.meta({ description: 'When the event happened.' }),
    data: ofResource,
  });

/** One entry of `GET /events`, one frame of a stream, and the thin form of a webhook. */
export const NotificationBody = bodyOf(z.enum(publicKinds), z.strictObject(data)).meta({ id: 'Event' });
export type NotificationBody = z.infer<typeof NotificationBody>;

/** The request of a webhook. */
export const webhookBody = (kind: PublicKind) =>
  bodyOf(
    z.literal(kind),
    z.strictObject({
      ...data,
      resourceType: z.literal(notificationKinds[kind].resourceType),
      object: z.unknown().optional().meta({
        description:
          'With `payload: full`: the resource at this event, as its `url` answers it; for `event_source.health_changed` as at the time of the delivery.',
      }),
      objectOmitted: z.literal(true).optional().meta({
        description:
          'With `payload: full`: the body would be too large with the resource, or the resource cannot be read.',
      }),
    }),
  );

/** @param baseUrl without a slash at its end */
export const notificationBody = (
  { id, kind, occurredAt, resourceType, resourceId, advertiserId, revision, changed, path }: KeptNotification,
  baseUrl: string,
): NotificationBody => ({
  id: `msg_${id}`,
  type: kind as PublicKind,
  timestamp: occurredAt,
  data: {
    resourceType,
    resourceId,
    ...(advertiserId === undefined ? {} : { advertiserId: String(advertiserId) }),
    revision,
    changed: [...changed],
    ...(path === undefined
      ? {}
      : { url: `${baseUrl}${path}${linksToPresent(kind) ? '' : `?asOf=${revision}`}` }),
  },
});

const EXAMPLE = { id: '5f2d8c14-7a3e-5b90-8d61-c4e97b02f3a8', occurredAt: '2026-01-15T09:30:00.000Z' };

export const exampleBody = (kind: PublicKind, baseUrl: string): NotificationBody =>
  notificationBody({ ...exampleNotification(kind), ...EXAMPLE }, baseUrl);
