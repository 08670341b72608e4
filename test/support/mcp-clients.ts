import * as v2 from '@modelcontextprotocol/client';
import { Client } from '@modelcontextprotocol/sdk/client/index.js';
import { StreamableHTTPClientTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js';

/** The official clients, as they connect to the tools. */

export interface CalledTool {
  readonly isError: boolean;
  readonly content: Readonly<Record<string, unknown>>;
}

export interface ToolClient {
  readonly tools: () => Promise<readonly ListedTool[]>;
  /** @throws Error if the result does not fit the tool's output schema */
  readonly call: (name: string, input?: Readonly<Record<string, unknown>>) => Promise<CalledTool>;
  readonly raw: (name: string, input?: Readonly<Record<string, unknown>>) => Promise<RawResult>;
  readonly close: () => Promise<void>;
}

interface RawResult {
  readonly isError?: boolean;
  readonly content?: unknown;
  readonly structuredContent?: CalledTool['content'];
}

export interface ListedTool {
  readonly name: string;
  readonly title?: string | undefined;
  readonly description?: string | undefined;
  readonly annotations?: Readonly<Record<string, unknown>> | undefined;
  readonly inputSchema: Readonly<Record<string, unknown>>;
  readonly outputSchema?: Readonly<Record<string, unknown>> | undefined;
}

type Connect = (url: string, apiKey: string) => Promise<ToolClient>;

interface AnyClient {
  listTools(): Promise<{ readonly tools: readonly ListedTool[] }>;
  callTool(called: { name: string; arguments: Record<string, unknown> }): Promise<unknown>;
  close(): Promise<void>;
}

const info = { name: 'test', version: '1.0.0' };

/** Both versions check a result against the schema that they have listed. */
const toolClient = (client: AnyClient): ToolClient => {
  const raw: ToolClient['raw'] = async (name, input = {}) =>
    (await client.callTool({ name, arguments: { ...input } })) as RawResult;
  return {
    tools: async () => (await client.listTools()).tools,
    raw,
    call: async (name, input) => {
      const { isError, structuredContent } = await raw(name, input);
      return { isError: isError === true, content: structuredContent ?? {} };
    },
    close: () => client.close(),
  };
};

const requestInitOf = (apiKey: string) => ({ headers: { Authorization: `Bearer ${apiKey}` } });

export const connectV1: Connect = async (url, apiKey) => {
  const client = new Client(info);
  const transport = new StreamableHTTPClientTransport(new URL(url), { requestInit: requestInitOf(apiKey) });
  await client.connect(transport);
  return toolClient(client);
};

export const connectV2 =
  (
    mode: 'auto' | 'legacy',
    onElicit?: (message: string) => v2.ElicitResult | Promise<v2.ElicitResult>,
    /** Default: the process's own. */
    fetch?: typeof globalThis.fetch,
  ): Connect =>
  async (url, apiKey) => {
    const capabilities = onElicit === undefined ? {} : { elicitation: {} };
    const client = new v2.Client(info, { capabilities, versionNegotiation: { mode } });
    if (onElicit !== undefined) {
      client.setRequestHandler('elicitation/create', ({ params }) => onElicit(params.message));
    }
    const transport = new v2.StreamableHTTPClientTransport(new URL(url), {
      requestInit: requestInitOf(apiKey),
      ...(fetch && { fetch }),
    });
    await client.connect(transport);
    return toolClient(client);
  };

export const officialClients = [
  ['version 1', connectV1],
  ['version 2, without sessions', connectV2('auto')],
  ['version 2, with sessions', connectV2('legacy')],
] as const;
