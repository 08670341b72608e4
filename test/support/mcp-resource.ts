import { Server } from '@modelcontextprotocol/sdk/server/index.js';
import { StreamableHTTPServerTransport } from '@modelcontextprotocol/sdk/server/streamableHttp.js';
import { CallToolRequestSchema, ListToolsRequestSchema } from '@modelcontextprotocol/sdk/types.js';
import type { Scope } from '../../domain/accounts/access.ts';
import type { HandedOverRoute } from '../../shared/http/route.ts';

/** An MCP server that needs an access token for `/mcp`: what it does is only to be reached. */
export const mcpResource = (
  seen: { readonly actor: string; readonly scopes: readonly string[] }[],
): HandedOverRoute[] =>
  (['post', 'get', 'delete'] as const).map((method) => ({
    method,
    path: '/mcp',
    operationId: `${method}McpOfTest`,
    summary: 'MCP of a test',
    tag: 'Test',
    access: 'exchange:read',
    resource: '/mcp',
    errors: 'oauth',
    serve: async (request, response, { principal }) => {
      const parts: Buffer[] = [];
      for await (const part of request) parts.push(part as Buffer);
      const body: unknown = method === 'post' ? JSON.parse(Buffer.concat(parts).toString()) : undefined;
      seen.push(principal);
      const needed: Scope | undefined = JSON.stringify(body)?.includes('"tools/call"')
        ? 'exchange:write'
        : undefined;
      if (needed !== undefined && !principal.scopes.includes(needed)) {
        response.writeHead(403, {
          'WWW-Authenticate': `Bearer error="insufficient_scope", scope="exchange:read ${needed}", resource_metadata="${metadataOf(request.headers.host)}"`,
        });
        response.end();
        return;
      }
      const server = new Server({ name: 'test', version: '1.0.0' }, { capabilities: { tools: {} } });
      server.setRequestHandler(ListToolsRequestSchema, async () => ({
        tools: [{ name: 'change', inputSchema: { type: 'object' } }],
      }));
      server.setRequestHandler(CallToolRequestSchema, async () => ({
        content: [{ type: 'text', text: principal.actor }],
      }));
      const transport = new StreamableHTTPServerTransport({ enableJsonResponse: true });
      response.once('close', () => void server.close());
      await server.connect(transport);
      await transport.handleRequest(request, response, body);
    },
  }));

const metadataOf = (host = ''): string => `http://${host}/.well-known/oauth-protected-resource/mcp`;
