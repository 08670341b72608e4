import type { IncomingMessage, ServerResponse } from 'node:http';
import {
  createMcpHandler,
  type McpHandlerRequestOptions,
  type McpServerFactory,
  type ServerEvent,
  type ServerEventBus,
} from '@modelcontextprotocol/server';
import type { StreamTexts } from '../query/realtime/frames.ts';
import type { LiveEntry } from '../query/realtime/live-feed.ts';
import type { Sink } from '../query/realtime/live-stream.ts';
import { openForUser, type UserStreams } from '../query/realtime/open-for-user.ts';
import type { Principal } from '../shared/http/principal.ts';
import { uriOfPath } from './resources.ts';

/** Clients that follow resources learn of changes from the feed of notifications, on any process. */

/** One address a line: what happened, for a sink that knows how its protocol says it. */
const addressLines: StreamTexts = {
  ready: () => '',
  // Only a stream that resumes can have missed something.
  reset: () => '',
  cursor: () => '',
  entry: ({ path }: LiveEntry) => {
    const uri = path === undefined ? undefined : uriOfPath(path);
    return uri === undefined ? '' : `${uri}\n`;
  },
  bye: () => '',
  // Protocols have their own.
  heartbeat: '',
  conversions: '',
};

const addressesIn = (text: string): readonly string[] => [...new Set(text.split('\n').slice(0, -1))];

export interface ListenOptions {
  readonly streams: UserStreams;
  readonly keepAliveMs: number;
  readonly onError: (error: Error) => void;
}

/** Answers the message of the request. */
type AnswerListen = (received: Request, handed: McpHandlerRequestOptions) => Promise<Response>;

export const isListenRequest = (body: unknown): boolean =>
  (body as { readonly method?: unknown } | null)?.method === 'subscriptions/listen';

/**
 * `subscriptions/listen` of protocol 2026-07-28. Each request has a handler of its own, since a handler tells all its
 * streams the same events, and these are of one account.
 * @throws ApiError 429 if the user has too many streams
 */
export const openListen = async (
  factory: McpServerFactory,
  { streams, keepAliveMs, onError }: ListenOptions,
  request: IncomingMessage,
  response: ServerResponse,
  principal: Principal,
): Promise<AnswerListen> => {
  const bus = createBus();
  const handler = createMcpHandler(factory, { legacy: 'reject', keepAliveMs, bus, onerror: onError });
  const sink: Sink = {
    write: (text) => {
      for (const uri of addressesIn(text)) bus.publish({ kind: 'resource_updated', uri });
      return !response.writableNeedDrain;
    },
    end: () => void handler.close(),
    destroy: () => response.destroy(),
    once: (event, listener) => response.once(event, listener),
  };
  await openForUser(streams, request, response, principal, {
    start: 'now',
    texts: addressLines,
    sink,
    begin: () => undefined,
  });
  return (received, handed) => handler.fetch(received, handed);
};

/** Keeps what happens before the stream is there. */
const createBus = (): ServerEventBus => {
  let early: ServerEvent[] = [];
  let listener: ((event: ServerEvent) => void) | undefined;
  return {
    publish: (event) => {
      if (listener === undefined) early.push(event);
      else listener(event);
    },
    subscribe: (to) => {
      listener = to;
      for (const event of early) to(event);
      early = [];
      return () => {
        listener = () => undefined;
      };
    },
  };
};

/**
 * Writes to the GET stream of a session which of its resources changed (protocol versions up to 2025-11-25).
 * @param subscribed those of these addresses that the session follows
 */
export const followForSession = async (
  hub: UserStreams['hub'],
  response: ServerResponse,
  customerId: number,
  subscribed: (uris: readonly string[]) => Promise<readonly string[]>,
): Promise<void> => {
  let whenWritten: (() => void) | undefined;
  const write = async (text: string): Promise<void> => {
    for (const uri of await subscribed(addressesIn(text))) response.write(updateFrame(uri));
  };
  const sink: Sink = {
    // The next addresses come when these are written.
    write: (text) => {
      write(text)
        .catch(() => response.destroy())
        .finally(() => (response.writableNeedDrain ? response.once('drain', drained) : drained()));
      return false;
    },
    end: () => response.end(),
    destroy: () => response.destroy(),
    once: (_drain, listener) => {
      whenWritten = listener;
    },
  };
  const drained = (): void => whenWritten?.();
  const stream = await hub.open({
    customerId,
    start: 'now',
    texts: addressLines,
    sink,
    begin: () => undefined,
    // The session's stream verifies its credential itself.
    isAllowed: async () => true,
    expiresAtMs: undefined,
  });
  if (response.closed) stream.remove();
  else response.once('close', () => stream.remove());
};

const updateFrame = (uri: string): string =>
  `event: message\ndata: ${JSON.stringify({ jsonrpc: '2.0', method: 'notifications/resources/updated', params: { uri } })}\n\n`;
