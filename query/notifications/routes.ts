import { z } from 'zod';
import {
  exampleBody,
  notificationBody,
  NotificationBody,
  webhookBody,
} from '../../domain/notifications/body.ts';
import { KEPT_DAYS } from '../../domain/notifications/kept-days.ts';
import { notificationKinds, publicKinds } from '../../domain/notifications/kinds.ts';
import { EventTypes } from '../../domain/notifications/matches.ts';
import { boundedText, readText } from '../../domain/values.ts';
import type { Clock } from '../../shared/async/clock.ts';
import { ApiError } from '../../shared/http/errors.ts';
import type { WebhookDeclaration } from '../../shared/http/openapi.ts';
import { route, type Route } from '../../shared/http/route.ts';
import { pathIntegerId, queryBoolean, takeParameter } from '../../shared/http/schemas.ts';
import { refuseIfBehind } from '../resources/refuse-if-behind.ts';
import type { ResourceReads } from '../resources/resource-reads.ts';
import { isExpired, type FeedCursors } from './cursor.ts';
import { FEED_START, readFeed, readNewest } from './feed.ts';

const tag = 'Events';
const TAKE_MAX = 200;

export interface NotificationReads extends ResourceReads {
  readonly cursors: FeedCursors;
  readonly clock: Clock;
  readonly baseUrl: () => string;
}

export const notificationReadRoutes = (reads: NotificationReads): readonly Route[] => [
  eventsRoute(reads),
  eventTypesRoute(reads),
];

export const typesParameter = readText(
  (text): string[] | string => {
    const { data, error } = EventTypes.safeParse(text.split(','));
    return data ?? error?.issues[0]?.message ?? 'must be kinds of events';
  },
  { description: 'Kinds, separated by commas: `creative.updated`, `creative.*` or `*`. Default: all.' },
);

const EventPage = z
  .strictObject({
    events: z.array(NotificationBody),
    nextCursor: z.string().meta({ description: '`after` of the next request, also if this page is empty.' }),
    hasMore: z.boolean().meta({ description: 'False: the page ends at the present.' }),
  })
  .meta({ id: 'EventPage' });

const eventsRoute = ({ cursors, clock, baseUrl, ...reads }: NotificationReads): Route =>
  route({
    method: 'get',
    path: '/api/v2/buyer/events',
    operationId: 'listEvents',
    summary: `What happened to the account's resources in the last ${KEPT_DAYS} days, oldest first`,
    tag,
    access: 'exchange:read',
    query: z.object({
      after: boundedText(1, 1_000).optional().meta({
        description:
          '`nextCursor` of an earlier page, with any filters. Default: from the oldest event kept.',
      }),
      newest: queryBoolean(
        'The newest events instead of the oldest, in the same order. Without `after`.',
      ).optional(),
      types: typesParameter.optional(),
      advertiserId: pathIntegerId('advertiser').optional(),
      take: takeParameter(TAKE_MAX),
    }),
    responses: { 200: { description: 'One page', data: EventPage } },
    handle: async ({ query: { after, newest = false, types, advertiserId, take }, request }) => {
      const { customerId } = request.principal;
      const place = after === undefined ? FEED_START : await cursors.read(customerId, after, 'after');
      if (isExpired(place, clock.now())) throw expired();
      const filters = { kinds: types, advertiserId };
      if (newest && after !== undefined) throw notBoth();
      const page = await (
        newest
          ? readNewest(reads, customerId, filters, take)
          : readFeed(reads, customerId, place, filters, take)
      ).catch(refuseIfBehind);
      const { entries, next, hasMore } = page;
      const events = entries.map((entry) => notificationBody(entry, baseUrl()));
      return { status: 200, data: { events, nextCursor: await cursors.of(customerId, next), hasMore } };
    },
  });

/** Not an answer from the oldest event: a client that reads on would not learn that it missed some. */
const expired = (): ApiError =>
  new ApiError({
    code: 'VALIDATION_ERROR',
    message: `The events after this cursor have been deleted: they are kept ${KEPT_DAYS} days. Read your resources again, then the events without \`after\`.`,
    field: 'after',
    details: { reason: 'CURSOR_EXPIRED', keptDays: KEPT_DAYS },
  });

const notBoth = (): ApiError =>
  new ApiError({
    code: 'VALIDATION_ERROR',
    message: 'Pass after or newest, not both: the newest events follow no cursor.',
    field: 'newest',
  });

const EventTypeList = z
  .strictObject({
    eventTypes: z.array(
      z.strictObject({
        type: z.string(),
        description: z.string(),
        resourceType: z.string(),
        schema: z.looseObject({}).meta({ description: 'JSON Schema of the body of a webhook.' }),
        example: NotificationBody,
      }),
    ),
  })
  .meta({ id: 'EventTypeList' });

const eventTypesRoute = ({ baseUrl }: NotificationReads): Route => {
  let schemas: ReadonlyMap<string, Record<string, unknown>> | undefined;
  return route({
    method: 'get',
    path: '/api/v2/buyer/webhook-event-types',
    operationId: 'listWebhookEventTypes',
    summary:
      'The kinds of events that webhooks, streams and `GET /events` have, with a schema and an example',
    tag,
    access: 'exchange:read',
    responses: { 200: { description: 'All kinds', data: EventTypeList } },
    handle: async () => {
      schemas ??= new Map(publicKinds.map((kind) => [kind, { ...z.toJSONSchema(webhookBody(kind)) }]));
      const eventTypes = publicKinds.map((type) => ({
        type,
        description: notificationKinds[type].description,
        resourceType: notificationKinds[type].resourceType,
        schema: schemas?.get(type),
        example: exampleBody(type, baseUrl()),
      }));
      return { status: 200, data: { eventTypes } };
    },
  });
};

/** What OpenAPI says about the requests that subscribers receive. */
export const webhookDeclarations = (baseUrl: string): readonly WebhookDeclaration[] =>
  publicKinds.map((kind) => ({
    name: kind,
    summary: notificationKinds[kind].description,
    tag,
    headers: webhookHeaders,
    body: webhookBody(kind),
    example: exampleBody(kind, baseUrl),
  }));

const webhookHeaders = z.object({
  'webhook-id': z.string().meta({ description: 'The `id` of the body, for every attempt.' }),
  'webhook-timestamp': z.string().meta({ description: 'Time of the attempt, in seconds since 1970.' }),
  'webhook-signature': z.string().meta({
    description:
      'Standard Webhooks: `v1,` and the base64 HMAC-SHA256 of `id.timestamp.body`. Several during a rotation, separated by spaces.',
  }),
  'x-webhook-signature': z.string().meta({
    description:
      '`sha256=` and the hex HMAC-SHA256 of the body, with the text of the newest secret as key. For receivers that cannot verify `webhook-signature`: it does not cover the time.',
  }),
  authorization: z.string().optional().meta({
    description: 'With `authentication: bearer`: `Bearer ` and the newest secret.',
  }),
});
