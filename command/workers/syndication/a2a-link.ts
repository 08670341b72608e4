import { randomUUID } from 'node:crypto';
import { DefaultAgentCardResolver, JsonRpcTransport } from '@a2a-js/sdk/client';
import { z } from 'zod';
import { isHttpUrl } from '../../../domain/values.ts';
import type { JsonObject } from '../../../shared/event-store/event-store.ts';
import {
  refusedBy,
  tasksGetIn,
  type LinkOptions,
  type LinkTarget,
  type OpenLink,
  type ToolResult,
} from './agent-link.ts';
import { HttpStatusError, RefusedCallError } from './call-errors.ts';

/**
 * The A2A transport of the official AdCP client has no time limit (a call of a silent server still waited
 * after 570 s); that of the official A2A client accepts our `fetch`. The card is untrusted: its endpoint
 * passes the outbound policy, and the token is sent only to its registered origin.
 */
export const openA2aLink: OpenLink = async (call, options) => {
  const fetchOwn = fetchWithToken(call, options);
  const card = await readCard(call.agentUrl, fetchOwn);
  const endpoint = endpointOf(card);
  if (call.token !== undefined && new URL(endpoint).origin !== new URL(call.agentUrl).origin) {
    throw new RefusedCallError(
      "The agent's card names an address of another origin, which must not receive the agent's token. Register the agent with that address.",
    );
  }
  const transport = new JsonRpcTransport({ endpoint, fetchImpl: fetchOwn });
  const names = card.skills.flatMap(({ id, name }) => [id, name]);
  let open: string | undefined;
  const resultOf = (answer: unknown): ToolResult => {
    const { result, openTaskId } = resultOfAnswer(answer);
    open = openTaskId;
    return result;
  };
  return {
    tasks: names.some((name) => TASK_NAME.test(name)) ? names : undefined,
    // Agents support it without listing it, so it is called by name.
    tasksGet: tasksGetIn(names) ?? 'tasks/get',
    callTool: async ({ name, arguments: parameters }) => {
      try {
        return resultOf(await transport.sendMessage(messageOf(name, parameters)));
      } catch (error) {
        if (error instanceof Error && 'errorResponse' in error) return refusedBy(error);
        throw error;
      }
    },
    taskOf: (taskId) => (taskId === open ? 'A2A' : 'ADCP'),
    ownTask: async (id) => resultOf(await transport.getTask({ id })),
    close: () => undefined,
  };
};

/** Some AdCP agents name their skills after AdCP's tasks. */
const TASK_NAME = /^(?:sync_(?:audiences|catalogs|event_sources)|get_(?:adcp_capabilities|products))$/;

type Fetch = typeof globalThis.fetch;

const fetchWithToken =
  ({ agentUrl, token }: LinkTarget, { fetch, signal }: LinkOptions): Fetch =>
  async (input, init) => {
    const url = new URL(input instanceof Request ? input.url : input);
    const headers = new Headers(init?.headers);
    headers.delete('authorization');
    if (token !== undefined && url.origin === new URL(agentUrl).origin) {
      headers.set('authorization', `Bearer ${token}`);
    }
    const answer = await fetch(url, { ...init, headers, signal });
    if (!answer.ok) {
      await answer.body?.cancel();
      throw new HttpStatusError(answer.status);
    }
    return answer;
  };

const Interface = z.looseObject({ url: z.string(), transport: z.string() });
const AgentCard = z.looseObject({
  url: z.string(),
  preferredTransport: z.string().default('JSONRPC'),
  additionalInterfaces: z.array(Interface).default([]),
  skills: z.array(z.looseObject({ id: z.string(), name: z.string() })).default([]),
});
type AgentCard = z.output<typeof AgentCard>;

/** Where the official AdCP client looks for cards, and the location of A2A (RFC 8615). */
const cardUrls = (agentUrl: string): readonly string[] => {
  if (/\/\.well-known\/agent(-card)?\.json$/.test(new URL(agentUrl).pathname)) return [agentUrl];
  const base = agentUrl.replace(/\/$/, '');
  const places = [
    `${base}/.well-known/agent-card.json`,
    `${base}/.well-known/agent.json`,
    new URL('/.well-known/agent-card.json', agentUrl).href,
  ];
  return [...new Set(places)];
};

const readCard = async (agentUrl: string, fetchImpl: Fetch): Promise<AgentCard> => {
  const resolver = new DefaultAgentCardResolver({ fetchImpl });
  for (const url of cardUrls(agentUrl)) {
    try {
      const card = AgentCard.safeParse(await resolver.resolve(url, ''));
      if (!card.success) throw new RefusedCallError("The agent's card cannot be read.");
      return card.data;
    } catch (error) {
      if (!(error instanceof HttpStatusError) || error.code !== 404) throw error;
    }
  }
  throw new RefusedCallError('The agent has no agent card at any address that A2A defines.');
};

const endpointOf = ({ url, preferredTransport, additionalInterfaces }: AgentCard): string => {
  const found = [{ url, transport: preferredTransport }, ...additionalInterfaces].find(
    ({ transport }) => transport === 'JSONRPC',
  );
  if (found === undefined || !isHttpUrl(found.url)) {
    throw new RefusedCallError("The agent's card names no address for A2A over JSON-RPC.");
  }
  return found.url;
};

const messageOf = (skill: string, parameters: JsonObject) => ({
  message: {
    kind: 'message' as const,
    role: 'user' as const,
    messageId: randomUUID(),
    // Both names are in use: `input` is the protocol's, `parameters` that of the official kit's agents.
    parts: [{ kind: 'data' as const, data: { skill, input: parameters, parameters } }],
  },
  configuration: { blocking: true },
});

const Part = z.looseObject({
  kind: z.string(),
  data: z.record(z.string(), z.json()).optional(),
  text: z.string().optional(),
});
const Parts = z.object({ parts: z.array(Part).default([]) });
const Answer = z.union([
  z.looseObject({
    kind: z.literal('task'),
    id: z.string(),
    status: z.looseObject({ state: z.string(), message: Parts.optional().catch(undefined) }),
    artifacts: z.array(Parts).default([]),
  }),
  z.looseObject({ kind: z.literal('message'), parts: Parts.shape.parts }),
]);

/** The answer is the last data part of an A2A task, so a completed call may contain unfinished work. */
const resultOfAnswer = (
  answer: unknown,
): { readonly result: ToolResult; readonly openTaskId?: string | undefined } => {
  const parsed = Answer.parse(answer);
  if (parsed.kind === 'message') return { result: { structuredContent: dataIn(parsed.parts) } };
  const { id, artifacts, status } = parsed;
  const said = [...(status.message?.parts ?? []), ...artifacts.flatMap(({ parts }) => parts)];
  const structuredContent = dataIn(said);
  const text = said.find((part) => part.text !== undefined)?.text;
  switch (status.state) {
    case 'completed':
      return { result: { structuredContent } };
    case 'submitted':
    case 'working':
      return { result: { structuredContent: { status: 'submitted', task_id: id } }, openTaskId: id };
    case 'input-required':
    case 'auth-required':
      return { result: { structuredContent: { status: 'input-required' } } };
    default:
      return {
        result: { isError: true, structuredContent: failureIn(structuredContent, status.state, text) },
      };
  }
};

const dataIn = (parts: readonly z.output<typeof Part>[]): Record<string, z.core.util.JSONType> | undefined =>
  parts.findLast(({ data }) => data !== undefined)?.data;

/** Without an AdCP error, `rejected` and `canceled` are final and `failed` is transient. */
const failureIn = (data: JsonObject | undefined, state: string, text: string | undefined) => {
  if (data !== undefined && ('adcp_error' in data || 'errors' in data)) return data as never;
  const message = typeof data?.['message'] === 'string' ? data['message'] : text;
  return {
    adcp_error: {
      code: 'SERVICE_UNAVAILABLE',
      message: message ?? `The agent's task ended as ${state}.`,
      recovery: state === 'failed' ? 'transient' : 'terminal',
    },
  };
};
