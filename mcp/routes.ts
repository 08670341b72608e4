import type { IncomingMessage, ServerResponse } from 'node:http';
import {
  createMcpHandler,
  isInitializeRequest,
  isJSONRPCResponse,
  isLegacyRequest,
  legacyStatelessFallback,
  type McpHandlerRequestOptions,
  type McpServer,
  type McpServerFactory,
  type Server,
} from '@modelcontextprotocol/server';
import { toNodeHandler, type NodeIncomingMessageLike } from '@modelcontextprotocol/node';
import type { Logger } from 'pino';
import { z } from 'zod';
import type { UserStreams } from '../query/realtime/open-for-user.ts';
import { readJsonBytes, refuseLargeBody } from '../shared/http/body.ts';
import type { Site } from '../shared/http/challenge.ts';
import { ApiError } from '../shared/http/errors.ts';
import type { Caller } from '../shared/http/invoke-route.ts';
import type { Scope } from '../shared/http/principal.ts';
import { refuseScope } from '../shared/http/refuse-forbidden.ts';
import type { HandedOverContext, HandedOverRoute } from '../shared/http/route.ts';
import { sendText } from '../shared/http/send.ts';
import { actorOverMcp } from '../domain/history/actor.ts';
import { refuseForeignCaller, type AllowedCallers } from './allowed-callers.ts';
import { rpcErrorBody, rpcErrors, type RpcError } from './json-rpc.ts';
import { createKeepAliveStreams } from './keep-alive-streams.ts';
import { SessionTransport, type SessionLink } from './session-transport.ts';
import type { McpSession, McpSessions, SessionHolder } from './sessions.ts';
import { openListen, followForSession, isListenRequest } from './subscriptions.ts';

export interface McpOptions {
  /** Addresses, and what distinguishes their operation ids. */
  readonly paths: Readonly<Record<string, string>>;
  /** Makes the server for one request. */
  readonly serverFor: (caller: Caller, session?: McpSession) => Server | McpServer;
  /** What a credential needs for a tool; undefined for an unknown one. */
  readonly scopeOf: (tool: string) => Scope | undefined;
  /** Default: each request is served by itself, also of clients that would have a session. */
  readonly following?: Following;
  readonly callers: AllowedCallers;
  readonly site: Site;
  /** Ends all streams. */
  readonly ending: AbortSignal;
  readonly log: Logger;
}

export interface Following {
  readonly sessions: McpSessions;
  /** Where followed resources report their changes. */
  readonly streams: UserStreams;
  /** Specification, Other bounds: 30 minutes. */
  readonly connectionMs: number;
}

const KEEP_ALIVE_MS = 15_000;
/** A call of 10,000 conversion events, and its frame. */
const BODY_BYTES_MAX = 16 * 1024 * 1024;
/** A process keeps the addresses that a stream follows. */
const LISTEN_BYTES_MAX = 128 * 1024;

/** JSON-RPC 2.0. */
const Message = z
  .looseObject({
    jsonrpc: z.literal('2.0').meta({ description: 'Version of JSON-RPC.' }),
    id: z.union([z.string(), z.int()]).optional().meta({ description: 'Absent in a notification.' }),
    method: z.string().meta({ description: 'Method of the protocol, e.g. `tools/call`.' }),
    params: z.looseObject({}).optional().meta({ description: 'Depends on the method.' }),
  })
  .meta({ id: 'McpMessage' });

type Serve = (
  path: string,
  request: IncomingMessage,
  response: ServerResponse,
  context: HandedOverContext,
) => Promise<void>;

export const mcpRoutes = (options: McpOptions): readonly HandedOverRoute[] => {
  const post = servePost(options);
  const { following } = options;
  const sessions = following && serveSessions(following, options.ending);
  return Object.entries(options.paths).flatMap(([path, suffix]) => {
    const base = { path, tag: 'MCP', access: 'exchange:read', resource: path, errors: 'envelope' } as const;
    const as =
      (serve: Serve): HandedOverRoute['serve'] =>
      (request, response, context) => {
        if (context.principal.kind === 'session') throw noCookie();
        refuseForeignCaller(options.callers, request, response);
        return serve(path, request, response, context);
      };
    const routes: readonly HandedOverRoute[] = [
      {
        ...base,
        method: 'post',
        operationId: `callMcp${suffix}`,
        summary: 'A message of the Model Context Protocol',
        sends: { mediaType: 'application/json', schema: Message },
        answers: { mediaType: 'text/event-stream', schema: z.string() },
        serve: as(post),
      },
    ];
    if (sessions === undefined) return routes;
    return [
      ...routes,
      {
        ...base,
        method: 'get',
        operationId: `streamMcp${suffix}`,
        summary: 'Stream of a session, for clients of protocol versions up to 2025-11-25',
        limit: 'none',
        serve: as(sessions.get),
      },
      {
        ...base,
        method: 'delete',
        operationId: `endMcp${suffix}Session`,
        summary: 'End of a session, for clients of protocol versions up to 2025-11-25',
        serve: as(sessions.end),
      },
    ];
  });
};

const servePost = (options: McpOptions): Serve => {
  const { log, serverFor, scopeOf, site, following } = options;
  const factory: McpServerFactory = ({ authInfo }) => {
    const extra: unknown = authInfo?.extra;
    const { caller, session } = extra as Handed;
    const server = serverFor(caller, session);
    if (session !== undefined) linkToSession(server, { ...session, signal: caller.signal });
    return server;
  };
  const report = (error: Error): void => log.debug({ err: error }, 'MCP');
  const modern = createMcpHandler(factory, { legacy: 'reject', keepAliveMs: KEEP_ALIVE_MS, onerror: report });
  const legacy = legacyStatelessFallback(factory, report);
  const listen = following && { streams: following.streams, keepAliveMs: KEEP_ALIVE_MS, onError: report };
  options.ending.addEventListener('abort', () => void modern.close());

  const answerLegacy = async (
    request: Request,
    { caller, parsedBody }: { readonly caller: Caller; readonly parsedBody: unknown },
    holder: SessionHolder,
  ): Promise<Response> => {
    if (following === undefined) return legacy(request, handedOver({ caller }, parsedBody));
    const { sessions } = following;
    if (isInitializeRequest(parsedBody)) {
      const answer = await legacy(request, handedOver({ caller }, parsedBody));
      if (!answer.ok) return answer;
      const headers = new Headers(answer.headers);
      headers.set('Mcp-Session-Id', await sessions.begin(holder, parsedBody.params));
      return new Response(answer.body, { status: answer.status, headers });
    }
    const id = request.headers.get('mcp-session-id');
    if (id === null) return rpcResponse(rpcErrors.noSession);
    const session = await sessions.use(holder, id);
    if (session === undefined) return rpcResponse(rpcErrors.unknownSession);
    if (isJSONRPCResponse(parsedBody)) {
      await session.questions.answer(String(parsedBody.id), parsedBody);
      return new Response(null, { status: 202 });
    }
    return legacy(request, handedOver({ caller, session }, parsedBody));
  };

  return async (path, request, response, context) => {
    const bytes = await readJsonBytes(request, response, { bodyBytesMax: BODY_BYTES_MAX });
    const parsedBody = parsedOf(bytes);
    if (parsedBody === undefined) return sendRpcError(response, rpcErrors.parse);
    // A request counts once against the limit of its credential, so it holds one message.
    if (Array.isArray(parsedBody)) return sendRpcError(response, rpcErrors.batch);
    const access = scopeOf(calledTool(parsedBody) ?? '');
    if (access !== undefined) refuseScope({ access, resource: path }, context.principal, site);
    const isListen = isListenRequest(parsedBody);
    if (isListen) refuseLargeBody(bytes?.length ?? 0, { bodyBytesMax: LISTEN_BYTES_MAX });
    // The SDK would keep a stream open that no limit counts.
    if (isListen && listen === undefined) return sendRpcError(response, rpcErrors.nothingToFollow);
    const answer =
      isListen && listen !== undefined
        ? await openListen(factory, listen, request, response, context.principal)
        : modern.fetch;
    const fetch = async (received: Request): Promise<Response> => {
      const caller = callerOf(context, received.signal);
      if (await isLegacyRequest(received, parsedBody))
        return answerLegacy(received, { caller, parsedBody }, holderOf(context));
      const handed = handedOver({ caller }, parsedBody);
      return answer(received, handed);
    };
    // The adapter reads only these members of the request.
    await toNodeHandler({ fetch }, { onerror: report })(
      request as NodeIncomingMessageLike,
      response,
      parsedBody,
    );
  };
};

const serveSessions = (
  { sessions, connectionMs, streams: { hub, verify } }: Following,
  ending: AbortSignal,
): { readonly get: Serve; readonly end: Serve } => {
  const alive = createKeepAliveStreams({ everyMs: Math.min(KEEP_ALIVE_MS, connectionMs), connectionMs });
  ending.addEventListener('abort', () => alive.close());
  const withSession =
    (
      serve: (
        id: string,
        holder: SessionHolder,
        request: IncomingMessage,
        response: ServerResponse,
      ) => Promise<boolean>,
    ): Serve =>
    async (_path, request, response, context) => {
      const id = request.headers['mcp-session-id'];
      if (typeof id !== 'string') return sendRpcError(response, rpcErrors.noSession);
      if (!(await serve(id, holderOf(context), request, response)))
        sendRpcError(response, rpcErrors.unknownSession);
    };
  return {
    get: withSession(async (id, holder, request, response) => {
      const session = await sessions.use(holder, id);
      if (session === undefined) return false;
      const isAllowed = async (): Promise<boolean> =>
        (await verify(request)) !== undefined && !ending.aborted && (await sessions.isLive(holder, id));
      alive.open(id, response, isAllowed);
      // The head is sent: a client whose stream breaks opens it again.
      await followForSession(hub, response, holder.customerId, (uris) => session.followed(uris)).catch(() =>
        response.destroy(),
      );
      return true;
    }),
    end: withSession(async (id, holder, _request, response) => {
      if (!(await sessions.end(holder, id))) return false;
      response.writeHead(204).end();
      return true;
    }),
  };
};

/** What the server of one request needs, through the SDK. */
interface Handed {
  readonly caller: Caller;
  readonly session?: McpSession;
}

const handedOver = (extra: Handed, parsedBody: unknown): McpHandlerRequestOptions => ({
  authInfo: { token: '', clientId: extra.caller.principal.actor, scopes: [], extra: { ...extra } },
  parsedBody,
});

/** Only clients that can be asked have a need for it. */
const linkToSession = (server: Server | McpServer, link: SessionLink): void => {
  if (Object.keys(link.initialize.capabilities).length === 0) return;
  const connect = server.connect.bind(server);
  server.connect = async (inner) => {
    const transport = new SessionTransport(inner, link);
    await connect(transport);
    transport.restore();
  };
};

const holderOf = ({ principal }: HandedOverContext): SessionHolder => ({
  customerId: principal.customerId,
  credential: principal.actor,
});

const callerOf = ({ principal, client, requestId }: HandedOverContext, signal: AbortSignal): Caller => ({
  principal: { ...principal, actor: actorOverMcp(principal.actor) },
  client,
  requestId,
  signal,
});

const parsedOf = (bytes: Buffer | undefined): unknown => {
  try {
    return bytes === undefined ? undefined : (JSON.parse(bytes.toString()) as unknown);
  } catch {
    return undefined;
  }
};

interface Message {
  readonly method?: unknown;
  readonly params?: { readonly name?: unknown };
}

/** MCP, Authorization: a missing scope is answered 403 before anything is done, so that clients ask for it. */
const calledTool = (body: unknown): string | undefined => {
  const message = body as Message | null;
  const name = message?.method === 'tools/call' ? message.params?.name : undefined;
  return typeof name === 'string' ? name : undefined;
};

const rpcResponse = (error: RpcError): Response =>
  new Response(rpcErrorBody(error), {
    status: error.status,
    headers: { 'Content-Type': 'application/json' },
  });

const sendRpcError = (response: ServerResponse, error: RpcError): void =>
  sendText(response, error.status, rpcErrorBody(error));

const noCookie = (): ApiError =>
  new ApiError({
    code: 'FORBIDDEN',
    message: 'Agents connect with an API key or an access token, not with the cookie of a signed-in person.',
  });
