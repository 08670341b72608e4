import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { z } from 'zod';

/** Duration of a task, in ms. */
const ANSWER_MS = Number(process.env['ANSWER_MS'] ?? 0);

/**
 * An AdCP agent that answers after `ANSWER_MS` and does nothing else. It implements just enough of MCP over HTTP for
 * `sync_event_sources` and `get_products`. The sandbox agent, which uses the SDK, takes longer than everything that is measured. Runs as a
 * separate process (`child-server.ts`).
 */
const Request = z.object({
  id: z.union([z.number(), z.string()]).optional(),
  method: z.string(),
  params: z
    .looseObject({
      protocolVersion: z.string().optional(),
      name: z.string().optional(),
      arguments: z
        .looseObject({ event_sources: z.array(z.object({ event_source_id: z.string() })).optional() })
        .optional(),
    })
    .optional(),
});

const products = Array.from({ length: 10 }, (_, n) => ({
  product_id: `product-${n}`,
  name: `Product ${n}`,
  description: 'Homepage banner',
  pricing_options: [{ pricing_option_id: 'cpm', pricing_model: 'cpm', currency: 'USD', fixed_price: 12.5 }],
}));

const resultOf = ({ method, params }: z.output<typeof Request>): object => {
  if (method === 'initialize') {
    const serverInfo = { name: 'prompt', version: '1' };
    return { protocolVersion: params?.protocolVersion, capabilities: { tools: {} }, serverInfo };
  }
  if (method === 'tools/list') {
    const inputSchema = { type: 'object' };
    return { tools: ['sync_event_sources', 'get_products'].map((name) => ({ name, inputSchema })) };
  }
  if (params?.name === 'get_products') {
    return {
      content: [{ type: 'text', text: JSON.stringify({ products }) }],
      structuredContent: { products },
    };
  }
  const taken = params?.arguments?.event_sources ?? [];
  const event_sources = taken.map(({ event_source_id }) => ({ event_source_id, action: 'created' }));
  return {
    content: [{ type: 'text', text: JSON.stringify({ event_sources }) }],
    structuredContent: { event_sources },
  };
};

const server = createServer((request, response) => {
  let text = '';
  request.setEncoding('utf8').on('data', (chunk: string) => (text += chunk));
  request.on('end', () => {
    const asked = request.method === 'POST' ? Request.parse(JSON.parse(text)) : undefined;
    if (asked?.id === undefined) {
      response.writeHead(asked === undefined ? 405 : 202).end();
    } else {
      const body = JSON.stringify({ jsonrpc: '2.0', id: asked.id, result: resultOf(asked) });
      const answer = (): void => {
        response.writeHead(200, { 'Content-Type': 'application/json' }).end(body);
      };
      if (asked.method === 'tools/call' && ANSWER_MS > 0) setTimeout(answer, ANSWER_MS);
      else answer();
    }
  });
});
server.listen(0, '127.0.0.1', () => {
  const { port } = server.address() as AddressInfo;
  process.stdout.write(`${JSON.stringify({ port })}\n`);
});
