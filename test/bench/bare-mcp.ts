import { createServer } from 'node:http';
import { toNodeHandler, type NodeIncomingMessageLike } from '@modelcontextprotocol/node';
import { createMcpHandler, Server } from '@modelcontextprotocol/server';

/**
 * The limit for tools: the SDK's own handler around a tool that always answers the same. No credential, no session, no
 * validation. Runs as a separate process (`child-server.ts`).
 */
const structuredContent = JSON.parse(process.env['MCP_ANSWER'] ?? '{}') as Record<string, unknown>;
const content = [{ type: 'text' as const, text: JSON.stringify(structuredContent) }];

const handler = createMcpHandler(() => {
  const server = new Server({ name: 'bare', version: '1.0.0' }, { capabilities: { tools: {} } });
  server.setRequestHandler('tools/call', async () => ({ structuredContent, content }));
  return server;
});
const handle = toNodeHandler(handler);
const server = createServer(
  (request, response) => void handle(request as NodeIncomingMessageLike, response),
).listen(0, '127.0.0.1', () => {
  const address = server.address();
  process.stdout.write(`${JSON.stringify({ port: typeof address === 'object' ? address?.port : 0 })}\n`);
});
