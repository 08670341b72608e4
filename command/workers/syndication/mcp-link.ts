import { Client } from '@modelcontextprotocol/sdk/client/index.js';
import { AjvJsonSchemaValidator } from '@modelcontextprotocol/sdk/validation/ajv';
import type { jsonSchemaValidator } from '@modelcontextprotocol/sdk/validation/types.js';
import { McpError } from '@modelcontextprotocol/sdk/types.js';
import { StreamableHTTPClientTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js';
import { refusedBy, tasksGetIn, type OpenLink } from './agent-link.ts';

/** The official AdCP client's own MCP client is unbounded: a silent agent's call returned after 120 s. */
export const openMcpLink: OpenLink = async ({ agentUrl, token }, { fetch, signal, timeoutMs }) => {
  const mcp = new BoundedMcpClient(signal, timeoutMs);
  const close = (): void => void mcp.close().catch(() => undefined);
  const transport = new StreamableHTTPClientTransport(new URL(agentUrl), {
    fetch: async (url, init) => {
      // The client requests a stream of server messages, which a single call does not need.
      if (init?.method === 'GET') return new Response(null, { status: 405 });
      // The transport's signal ends requests when it is closed, and so does the call's signal.
      const answer = await fetch(url, { ...init, signal });
      if (answer.status !== 202) return answer;
      // Otherwise the transport cancels the empty body, and with it the connection for the next request.
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

/** Agents have a few dozen tools; endless lists are cut off. */
const PAGES_MAX = 20;

/** Created at first use: it takes as long as a request. One per call: agents choose the cached names. */
const createLateValidator = (): jsonSchemaValidator => {
  let made: jsonSchemaValidator | undefined;
  return {
    getValidator: (schema) => {
      made ??= new AjvJsonSchemaValidator();
      return made.getValidator(schema);
    },
  };
};

/** Applies the deadline to every request. Overriding `callTool` alone would miss others. */
class BoundedMcpClient extends Client {
  readonly #signal: AbortSignal;
  readonly #timeoutMs: number;

  constructor(signal: AbortSignal, timeoutMs: number) {
    super({ name: 'buyer-exchange', version: '1' }, { jsonSchemaValidator: createLateValidator() });
    this.#signal = signal;
    this.#timeoutMs = timeoutMs;
  }

  /**
   * The MCP client checks answers against the `outputSchema` of the last page's tools, and its public API
   * cannot turn that off. Answers are validated where they are read.
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
