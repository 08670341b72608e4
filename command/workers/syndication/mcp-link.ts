import { Client } from '@modelcontextprotocol/sdk/client/index.js';
import { AjvJsonSchemaValidator } from '@modelcontextprotocol/sdk/validation/ajv';
import type { jsonSchemaValidator } from '@modelcontextprotocol/sdk/validation/types.js';
import { McpError } from '@modelcontextprotocol/sdk/types.js';
import { StreamableHTTPClientTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js';
import { refusedBy, tasksGetIn, type OpenLink } from './agent-link.ts';

/**
 * An agent over MCP. The MCP client is ours: with the official AdCP client's own, neither time nor bytes nor addresses
 * are bounded (a call of an agent that never answers came back after 120 s, whatever the `timeout` said).
 */
export const openMcpLink: OpenLink = async ({ agentUrl, token }, { fetch, signal, timeoutMs }) => {
  const mcp = new BoundedMcpClient(signal, timeoutMs);
  const close = (): void => void mcp.close().catch(() => undefined);
  const transport = new StreamableHTTPClientTransport(new URL(agentUrl), {
    fetch: async (url, init) => {
      // It asks for a stream of what the server might want to say by itself. That is of no use within one call.
      if (init?.method === 'GET') return new Response(null, { status: 405 });
      // Its own signal ends what is under way when it is closed; so does the end of the call.
      const answer = await fetch(url, { ...init, signal });
      if (answer.status !== 202) return answer;
      // It would cut off what has nothing to say, and with it the connection that the next request is to have.
      await ended(answer);
      return new Response(null, { status: 202, headers: answer.headers });
    },
    requestInit: { headers: token === undefined ? {} : { Authorization: `Bearer ${token}` } },
    reconnectionOptions: {
      maxRetries: 0,
      initialReconnectionDelay: 1_000,
      maxReconnectionDelay: 1_000,
      reconnectionDelayGrowFactor: 1,
    },
  });
  try {
    await mcp.connect(transport);
    const { tools } = await mcp.listTools();
    const tasks = tools.map(({ name }) => name);
    return {
      callTool: (call) =>
        mcp.callTool(call).catch((error: unknown) => {
          if (error instanceof McpError) return refusedBy(error);
          throw error;
        }),
      tasks,
      tasksGet: tasksGetIn(tasks),
      taskOf: () => 'ADCP',
      ownTask: async () => ({ isError: true }),
      close,
    };
  } catch (error) {
    close();
    throw error;
  }
};

/** Longest time that anybody waits for the end of an answer without content. */
const ENDED_MS_MAX = 20;

const ended = (answer: Response): Promise<void> =>
  new Promise((resolve) => {
    const timer = setTimeout(resolve, ENDED_MS_MAX);
    const end = (): void => {
      clearTimeout(timer);
      resolve();
    };
    answer.arrayBuffer().then(end, end);
  });

/** Of one list of tools. Agents have some dozens, and one that never comes to an end is not followed. */
const PAGES_MAX = 20;

/**
 * Made when it is first needed, which most agents' tools never do: making one takes as long as a request. One for each call,
 * as it keeps schemas by the names that they give themselves.
 */
const createLateValidator = (): jsonSchemaValidator => {
  let made: jsonSchemaValidator | undefined;
  return {
    getValidator: (schema) => {
      made ??= new AjvJsonSchemaValidator();
      return made.getValidator(schema);
    },
  };
};

/** Every request of it, whoever makes it, has the deadline: overriding `callTool` alone leaves others without. */
class BoundedMcpClient extends Client {
  readonly #signal: AbortSignal;
  readonly #timeoutMs: number;

  constructor(signal: AbortSignal, timeoutMs: number) {
    super({ name: 'buyer-exchange', version: '1' }, { jsonSchemaValidator: createLateValidator() });
    this.#signal = signal;
    this.#timeoutMs = timeoutMs;
  }

  /**
   * All pages of the agent's tools, as far as they go. With each page
   * the MCP client forgets what it knew of the tools before: it checks answers against the `outputSchema` of the last
   * page's tools alone. That it has no public way around; what an answer must be is checked where it is read.
   */
  override listTools: Client['listTools'] = async () => {
    const first = await super.listTools();
    const tools = [...first.tools];
    const seen = new Set<string>();
    let cursor = first.nextCursor;
    while (cursor !== undefined && !seen.has(cursor) && seen.size < PAGES_MAX - 1) {
      seen.add(cursor);
      const page: typeof first = await super.listTools({ cursor });
      tools.push(...page.tools);
      cursor = page.nextCursor;
    }
    const { nextCursor: _, ...list } = first;
    return { ...list, tools };
  };

  override request: Client['request'] = (request, schema, options) =>
    super.request(request, schema, {
      ...options,
      signal: this.#signal,
      timeout: this.#timeoutMs,
      maxTotalTimeout: this.#timeoutMs,
    });
}
