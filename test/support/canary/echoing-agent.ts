import { once } from 'node:events';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';

/**
 * An agent that fails and echoes the token of the call in every place where a server can send text. Each way has its
 * own address, `/{way}/mcp`. It implements as much of MCP as a call needs.
 */
export interface EchoingAgent {
  urlOf(way: string): string;
  /** Call counts by way. */
  readonly calls: Readonly<Record<string, number | undefined>>;
  stop(): Promise<void>;
}

interface Call {
  readonly token: string;
  readonly response: ServerResponse;
  /** Answers a JSON-RPC request. A notification has no answer. */
  answer(message: object): void;
}

/** Answers to the initial request. */
const initialAnswers: Readonly<Record<string, (call: Call) => void>> = {
  'http-500': ({ token, response }) => {
    response.writeHead(500, `Not with ${token}`, { 'X-Reason': token, 'Content-Type': 'text/plain' });
    response.end(`Error: Bearer ${token} is not what I like\n`);
  },
  'http-404': ({ token, response }) => {
    response.writeHead(404, { 'Content-Type': 'application/json' });
    response.end(JSON.stringify({ error: { code: 404, message: token, data: { token } } }));
  },
  redirect: ({ token, response }) => {
    response.writeHead(302, { Location: `/elsewhere?token=${token}` });
    response.end();
  },
  'no-json': ({ token, response }) => {
    response.writeHead(200, { 'Content-Type': 'application/json' });
    response.end(`{"token": ${token}`);
  },
  'no-answer': ({ token, answer }) => answer({ result: token }),
  'rpc-error': ({ token, answer }) =>
    answer({ error: { code: -32_000, message: `Bearer ${token}`, data: { token } } }),
};

const said = (isError: boolean, content: object): object => ({
  result: { isError, content: [{ type: 'text', text: JSON.stringify(content) }], structuredContent: content },
});

/** Answers to a tool call. */
const toolAnswers: Readonly<Record<string, (call: Call) => void>> = {
  'tool-rpc-error': ({ token, answer }) => answer({ error: { code: -32_603, message: `Bearer ${token}` } }),
  'tool-text': ({ token, answer }) =>
    answer({ result: { isError: true, content: [{ type: 'text', text: `Bearer ${token} is unknown` }] } }),
  'tool-busy': ({ token, answer }) =>
    answer(said(true, { adcp_error: { code: 'BUSY', message: `Not ${token}`, recovery: 'transient' } })),
  'tool-terminal': ({ token, answer }) =>
    answer(
      said(true, {
        adcp_error: { code: token, message: `Not ${token}`, recovery: 'terminal', [token]: token },
      }),
    ),
  'tool-submitted': ({ token, answer }) => answer(said(false, { status: 'submitted', task_id: token })),
  'tool-items': ({ token, answer }) =>
    answer(
      said(false, {
        status: 'completed',
        event_sources: [
          { event_source_id: 'web', action: 'failed', errors: [{ code: token, message: `Not ${token}` }] },
        ],
      }),
    ),
  'tool-500': initialAnswers['http-500'] as (call: Call) => void,
};

export const echoingWays = [...Object.keys(initialAnswers), ...Object.keys(toolAnswers)];

export const startEchoingAgent = async (): Promise<EchoingAgent> => {
  const calls: Record<string, number> = {};
  const server = createServer((request, response) => {
    void serve(calls, request, response).catch(() => response.destroy());
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  return {
    urlOf: (way) => `http://127.0.0.1:${port}/${way}/mcp`,
    calls,
    stop: async () => {
      server.closeAllConnections();
      server.close();
      await once(server, 'close');
    },
  };
};

const serve = async (
  calls: Record<string, number>,
  request: IncomingMessage,
  response: ServerResponse,
): Promise<void> => {
  const chunks: Buffer[] = [];
  for await (const chunk of request) chunks.push(chunk as Buffer);
  const text = Buffer.concat(chunks).toString();
  const { id, method } = (text === '' ? {} : JSON.parse(text)) as { id?: number; method?: string };
  const token = request.headers.authorization?.replace('Bearer ', '') ?? 'nothing';
  const way = request.url?.split('/')[1] ?? '';
  const call: Call = {
    token,
    response,
    answer: (message) => {
      const headers = { 'Content-Type': 'application/json', 'X-Token': token };
      if (id === undefined) response.writeHead(202, headers).end();
      else response.writeHead(200, headers).end(JSON.stringify({ jsonrpc: '2.0', id, ...message }));
    },
  };
  if (method === 'initialize') calls[way] = (calls[way] ?? 0) + 1;
  const refuse = initialAnswers[way];
  if (refuse !== undefined) return refuse(call);
  if (method === 'tools/call') return toolAnswers[way]?.(call);
  call.answer({ result: method === 'tools/list' ? tools(token) : hello(token) });
};

const hello = (token: string) => ({
  protocolVersion: '2025-03-26',
  capabilities: { tools: {} },
  serverInfo: { name: token, version: token },
  instructions: `Say ${token}`,
});

/** One tool has the token as its name. */
const tools = (token: string) => ({
  tools: ['sync_event_sources', token].map((name) => ({
    name,
    description: `With ${token}`,
    inputSchema: { type: 'object' },
  })),
});
