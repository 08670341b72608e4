import {
  ProtocolError,
  ProtocolErrorCode,
  Server,
  type CallToolResult,
  type ListToolsResult,
} from '@modelcontextprotocol/server';
import { sleep } from '../shared/async/backoff.ts';
import type { Confirmations } from '../shared/confirmations/confirmations.ts';
import { apiErrorOf } from '../shared/http/api-error-of.ts';
import { ApiError } from '../shared/http/errors.ts';
import type { Caller, InvokeRoute } from '../shared/http/invoke-route.ts';
import type { Scope } from '../shared/http/principal.ts';
import { validate } from '../shared/http/validate.ts';
import { refuseDeep } from './refuse-deep.ts';
import type { Elicitation } from './elicit.ts';
import { listedTools, type ListedTool } from './listed-tool.ts';
import { listedPrompts, promptOf } from './prompts.ts';
import { listResources, readResource, refuseForeignUri, resourceTemplates } from './resources.ts';
import { refusalResult, toolResult } from './result.ts';
import { FOLLOWED_MAX, type McpSession } from './sessions.ts';
import type { Tool, ToolCall, ToolRun } from './tool.ts';

export interface ServerOptions {
  readonly version: string;
  readonly instructions: string;
  readonly tools: readonly Tool[];
  readonly invoke: InvokeRoute;
  /** The longest time for a call, ms. Specification, Other bounds: 30 minutes. */
  readonly callMs: number;
  readonly elicitation: Elicitation;
  readonly confirmations: Pick<Confirmations, 'withdraw'>;
  /** For errors that are not refusals. */
  readonly onError: (error: unknown, what: string) => void;
}

/** @returns makes a server for one request: it offers what the scopes of the caller allow */
export const createServers = (options: ServerOptions): ((caller: Caller, session?: McpSession) => Server) => {
  const byName = new Map(options.tools.map((one) => [one.name, one]));
  const offeredTo = (scopes: readonly Scope[]): readonly Tool[] =>
    options.tools.filter(({ scope }) => scopes.includes(scope));
  let listed: Promise<ReadonlyMap<Tool, ListedTool>> | undefined;
  const listFor = async (scopes: readonly Scope[]): Promise<ListedTool[]> => {
    // Not at the start, which it would make noticeably longer.
    listed ??= listedTools(options.tools);
    const all = await listed;
    return offeredTo(scopes).flatMap((one) => all.get(one) ?? []);
  };
  return (caller, session) => {
    const server = new Server(
      { name: 'buyer-exchange', title: 'Buyer Exchange', version: options.version },
      {
        capabilities: { tools: {}, resources: { subscribe: true }, prompts: {} },
        instructions: options.instructions,
        cacheHints,
        requestState: { verify: options.elicitation.verify },
      },
    );
    offerContext(server, (signal) => {
      const own = { ...caller, signal: AbortSignal.any([caller.signal, signal]) };
      return { caller: own, invoke: options.invoke.bind(undefined, own) };
    });
    if (session !== undefined) offerFollowing(server, session, options.onError);
    server.setRequestHandler('tools/list', async (): Promise<ListToolsResult> => ({
      tools: await listFor(caller.principal.scopes),
    }));
    server.setRequestHandler('tools/call', async ({ params }, context) => {
      const called = byName.get(params.name);
      if (called === undefined)
        return refusalResult(unknownTool(params.name, offeredTo(caller.principal.scopes)));
      const signal = AbortSignal.any([caller.signal, context.mcpReq.signal]);
      const declared = server.getClientCapabilities()?.elicitation;
      return options.elicitation
        .around(
          context,
          declared,
          (confirmationUid) =>
            callTool(
              options,
              called,
              { given: params.arguments ?? {}, confirmationUid },
              { ...caller, signal },
            ),
          (uid) => options.confirmations.withdraw(caller.principal.customerId, uid),
        )
        .catch((error: unknown) => refusalResult(refusalOf(error, called.name, options.onError)));
    });
    return server;
  };
};

/** Resources and prompts: what a person attaches to a conversation, or begins one with. */
const offerContext = (server: Server, callOf: (signal: AbortSignal) => ToolCall): void => {
  server.setRequestHandler('resources/list', (_request, { mcpReq }) => listResources(callOf(mcpReq.signal)));
  server.setRequestHandler('resources/templates/list', async () => resourceTemplates());
  server.setRequestHandler('resources/read', ({ params }, { mcpReq }) =>
    readResource(params.uri, callOf(mcpReq.signal)),
  );
  server.setRequestHandler('prompts/list', async () => ({ prompts: [...listedPrompts] }));
  server.setRequestHandler('prompts/get', async ({ params }) => promptOf(params.name, params.arguments));
};

/** Protocol versions up to 2025-11-25: updates come on the GET stream of the session. */
export const offerFollowing = (
  server: Server,
  session: McpSession,
  onError: ServerOptions['onError'],
  refuse = refuseForeignUri,
): void => {
  // The SDK sends the message of any error to the client.
  const rethrow = (error: unknown): never => {
    const { body } = refusalOf(error, 'resources/subscribe', onError);
    throw new ProtocolError(ProtocolErrorCode.InternalError, body.message);
  };
  server.setRequestHandler('resources/subscribe', async ({ params: { uri } }) => {
    refuse(uri);
    if (await session.follow(uri).catch(rethrow)) return {};
    throw new ProtocolError(
      ProtocolErrorCode.InvalidParams,
      `A session follows at most ${FOLLOWED_MAX} resources. Unsubscribe from one, then repeat the request.`,
    );
  });
  server.setRequestHandler('resources/unsubscribe', async ({ params: { uri } }) => {
    refuse(uri);
    await session.unfollow(uri).catch(rethrow);
    return {};
  });
};

/** Lists depend on the scopes of the credential, and change with a release. */
const LIST_MS = 5 * 60_000;
const ofCaller = { ttlMs: LIST_MS, cacheScope: 'private' } as const;
const cacheHints = {
  'tools/list': ofCaller,
  'prompts/list': ofCaller,
  'resources/templates/list': ofCaller,
  'server/discover': ofCaller,
};

const callTool = async (
  { invoke, callMs, onError }: ServerOptions,
  called: Tool,
  { given, confirmationUid }: Pick<ToolRun, 'given' | 'confirmationUid'>,
  caller: Caller,
): Promise<CallToolResult> => {
  const over = new AbortController();
  try {
    refuseDeep(given);
    const input = validate(called.input, given);
    const call = { caller, given, confirmationUid, invoke: invoke.bind(undefined, caller) };
    const result = await Promise.race([called.run(input, call), timeIsUp(callMs, over.signal)]);
    return toolResult(result);
  } catch (error) {
    return refusalResult(refusalOf(error, called.name, onError));
  } finally {
    over.abort();
  }
};

const refusalOf = (error: unknown, what: string, onError: ServerOptions['onError']): ApiError => {
  const refusal = apiErrorOf(error);
  if (refusal.status >= 500) onError(error, what);
  return refusal;
};

/** Specification, MCP tool call exceeds 30 minutes. */
const timeIsUp = async (callMs: number, signal: AbortSignal): Promise<never> => {
  await sleep(callMs, signal);
  throw new ApiError({
    code: 'SERVICE_UNAVAILABLE',
    message: 'The call took too long. It may have completed; read state before retrying.',
  });
};

const unknownTool = (name: string, offered: readonly Tool[]): ApiError =>
  new ApiError({
    code: 'NOT_FOUND',
    message: `There is no tool ${JSON.stringify(name.slice(0, 100))}. Offered: ${offered.map((one) => one.name).join(', ')}.`,
  });
