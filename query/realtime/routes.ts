import type { IncomingMessage, ServerResponse } from 'node:http';
import { z } from 'zod';
import { matchesKind } from '../../domain/notifications/matches.ts';
import { boundedText } from '../../domain/values.ts';
import { foreignPage, isFetchedByOwnPage } from '../../shared/http/own-origin.ts';
import type { Principal } from '../../shared/http/principal.ts';
import { readHeaders, readQuery, searchOf } from '../../shared/http/read-input.ts';
import type { HandedOverContext, HandedOverRoute } from '../../shared/http/route.ts';
import { pathIntegerId, queryBoolean } from '../../shared/http/schemas.ts';
import { STREAMS_OF_USER_MAX } from '../../shared/limits/open-streams.ts';
import type { FeedCursors } from '../notifications/cursor.ts';
import { typesParameter } from '../notifications/routes.ts';
import { eventTexts } from './frames.ts';
import type { StreamStart } from './hub.ts';
import type { LiveEntry } from './live-feed.ts';
import { openForUser, STREAM_ACCESS, type UserStreams } from './open-for-user.ts';

export interface RealtimeOptions extends UserStreams {
  readonly cursors: FeedCursors;
}

const CURSOR_LENGTH_MAX = 1_000;

const Query = z.object({
  topics: typesParameter.optional(),
  advertiserId: pathIntegerId('advertiser').optional(),
  lastEventId: boundedText(1, CURSOR_LENGTH_MAX).optional().meta({
    description:
      'Like the header `Last-Event-ID`, which is preferred: `EventSource` repeats the query unchanged.',
  }),
  conversions: queryBoolean(
    'Also a frame `conversions` when conversion events of the account were counted, at most about one a second. It has no id, and is not repeated after a break: read the counts again.',
  ).optional(),
  since: z.enum(['now', 'earliest']).optional().meta({
    description: 'Where a stream without a last id begins. Default: now. `earliest`: the oldest event kept.',
  }),
});

const Headers = z.object({
  'last-event-id': boundedText(1, CURSOR_LENGTH_MAX)
    .optional()
    .meta({ description: 'The last id that the client has received: the stream goes on after it.' }),
});

const queryNames = new Set(Object.keys(Query.shape));
const headerNames = Object.keys(Headers.shape);

/** A proxy must neither buffer nor compress it. */
const head = {
  'Content-Type': 'text/event-stream; charset=utf-8',
  'Cache-Control': 'no-store, no-transform',
  'X-Accel-Buffering': 'no',
};

/** Everything is checked before the 200: after it, `EventSource` would connect again and again. */
export const realtimeRoute = (options: RealtimeOptions): HandedOverRoute => ({
  method: 'get',
  path: '/api/v2/buyer/realtime',
  operationId: 'streamEvents',
  description:
    'Server-sent events that do not end: `ready`, then one frame for each event. Resume with the ' +
    'last `id` as `Last-Event-ID`; no event is lost or repeated. A user has at most ten streams.',
  summary: 'What happens to the resources of the account, as server-sent events',
  tag: 'Events',
  access: STREAM_ACCESS,
  limit: 'none',
  errors: 'envelope',
  query: Query,
  headers: Headers,
  success: {
    description: `Frames \`ready\`, one for each event, \`cursor\`, \`reset\` and \`bye\`. A user may have ${STREAMS_OF_USER_MAX} streams open: one more is refused with 429`,
    mediaType: 'text/event-stream',
  },
  serve: (request, response, context) => serve(options, request, response, context),
});

const serve = async (
  options: RealtimeOptions,
  request: IncomingMessage,
  response: ServerResponse,
  { principal }: HandedOverContext,
): Promise<void> => {
  if (principal.kind === 'session' && !isFetchedByOwnPage(request)) throw foreignPage();
  const {
    topics = ['*'],
    advertiserId,
    since = 'now',
    conversions = false,
    lastEventId,
  } = readQuery(Query, queryNames, searchOf(request));
  const { 'last-event-id': lastId } = readHeaders(Headers, headerNames, request);
  const start = await startOf(options.cursors, principal, since, lastId, lastEventId);
  if (request.method === 'HEAD') {
    response.writeHead(200, head).end();
    return;
  }
  const wants = ({ kind, advertiserId: of }: LiveEntry): boolean =>
    matchesKind(topics, kind) && (advertiserId === undefined || of === advertiserId);
  await openForUser(options, request, response, principal, {
    start,
    texts: eventTexts(wants, conversions),
    sink: response,
    begin: () => response.writeHead(200, head).flushHeaders(),
  });
};

const startOf = async (
  cursors: FeedCursors,
  { customerId }: Principal,
  since: 'now' | 'earliest',
  header: string | undefined,
  parameter: string | undefined,
): Promise<StreamStart> => {
  if (header !== undefined) return cursors.read(customerId, header, 'Last-Event-ID');
  return parameter === undefined ? since : cursors.read(customerId, parameter, 'lastEventId');
};
