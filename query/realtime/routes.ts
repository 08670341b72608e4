import type { IncomingMessage, ServerResponse } from 'node:http';
import { z } from 'zod';
import { matchesKind } from '../../domain/notifications/matches.ts';
import { boundedText } from '../../domain/values.ts';
import { ApiError } from '../../shared/http/errors.ts';
import { foreignPage, isFetchedByOwnPage } from '../../shared/http/own-origin.ts';
import type { Principal, Scope } from '../../shared/http/principal.ts';
import { readHeaders, readQuery, searchOf } from '../../shared/http/read-input.ts';
import type { HandedOverContext, HandedOverRoute } from '../../shared/http/route.ts';
import { pathIntegerId } from '../../shared/http/schemas.ts';
import { STREAMS_OF_USER_MAX, type OpenStreams, type StreamLease } from '../../shared/limits/open-streams.ts';
import type { FeedCursors } from '../notifications/cursor.ts';
import { typesParameter } from '../notifications/routes.ts';
import type { Hub, OpenStream, StreamStart } from './hub.ts';
import type { LiveEntry } from './live-feed.ts';

export interface RealtimeOptions {
  readonly hub: Hub;
  readonly cursors: FeedCursors;
  readonly openStreams: OpenStreams;
  /** As the credential of the request is accepted now; undefined if it is refused. @throws if that is unknown */
  readonly verify: (request: IncomingMessage) => Promise<Principal | undefined>;
}

const CURSOR_LENGTH_MAX = 1_000;
const RETRY_SECONDS = 5;
const ACCESS: Scope = 'exchange:read';

const Query = z.object({
  topics: typesParameter.optional(),
  advertiserId: pathIntegerId('advertiser').optional(),
  lastEventId: boundedText(1, CURSOR_LENGTH_MAX).optional().meta({
    description:
      'Like the header `Last-Event-ID`, which is preferred: `EventSource` repeats the query unchanged.',
  }),
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
  summary: 'What happens to the resources of the account, as server-sent events',
  tag: 'Events',
  access: ACCESS,
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
  await openStream(options, request, response, principal, { start, wants });
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

interface StreamRequest {
  readonly start: StreamStart;
  readonly wants: (entry: LiveEntry) => boolean;
}

const openStream = async (
  { hub, openStreams, verify }: RealtimeOptions,
  request: IncomingMessage,
  response: ServerResponse,
  principal: Principal,
  { start, wants }: StreamRequest,
): Promise<void> => {
  const { customerId, actor, user } = principal;
  let stream: OpenStream | undefined;
  const lease = await openStreams.take({ customerId, userId: user?.id ?? actor }, () => stream?.end('limit'));
  if (lease === undefined) throw tooMany();
  try {
    stream = await hub.open({
      customerId,
      start,
      wants,
      sink: response,
      begin: () => response.writeHead(200, head).flushHeaders(),
      isAllowed: async () => isSameReader(await verify(request), principal),
      expiresAtMs: principal.expiresAtMs,
    });
  } catch (error) {
    lease.release();
    throw error;
  }
  whenClosed(response, lease, stream);
};

const whenClosed = (response: ServerResponse, lease: StreamLease, stream: OpenStream): void => {
  const end = (): void => {
    stream.remove();
    lease.release();
  };
  if (response.closed) end();
  else response.once('close', end);
};

const isSameReader = (now: Principal | undefined, { customerId, user }: Principal): boolean =>
  now !== undefined &&
  now.customerId === customerId &&
  now.user?.id === user?.id &&
  now.scopes.includes(ACCESS);

const tooMany = (): ApiError =>
  new ApiError(
    {
      code: 'RATE_LIMITED',
      message: `Your user has ${STREAMS_OF_USER_MAX} realtime streams open, which is the limit. Close one, then repeat the request.`,
      details: { limit: STREAMS_OF_USER_MAX, open: STREAMS_OF_USER_MAX },
    },
    { 'Retry-After': String(RETRY_SECONDS) },
  );
