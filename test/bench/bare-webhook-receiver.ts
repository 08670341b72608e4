import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { z } from 'zod';

/**
 * Receives webhooks: 204 at once, after a second below `/slow`, 500 below `/fail`, and no answer below `/hang`. `GET /arrivals/<group>` answers with the times of requests to
 * paths of that group (epoch, ms) and forgets them. Runs as a separate process (`child-server.ts`).
 */
interface Arrival {
  readonly atMs: number;
  /** `<resource>:<revision>`, below `/latency` only. */
  readonly event: string | undefined;
}

const Body = z.object({ data: z.object({ resourceId: z.string(), revision: z.int() }) });
const SLOW_MS = 1_000;
const arrivals = new Map<string, Arrival[]>();
const groupOf = (path: string): string => path.split('/').slice(0, 3).join('/');

const server = createServer((request, response) => {
  const atMs = performance.timeOrigin + performance.now();
  const path = request.url ?? '';
  if (request.method === 'GET') {
    const group = path.slice('/arrivals'.length);
    response
      .writeHead(200, { 'Content-Type': 'application/json' })
      .end(JSON.stringify(arrivals.get(group) ?? []));
    arrivals.delete(group);
    return;
  }
  const isRead = path.startsWith('/latency');
  let text = '';
  request.setEncoding('utf8').on('data', (piece: string) => {
    if (isRead) text += piece;
  });
  request.on('end', () => {
    if (path.startsWith('/hang')) return;
    if (path.startsWith('/slow')) {
      setTimeout(() => response.writeHead(204).end(), SLOW_MS);
      return;
    }
    if (path.startsWith('/fail')) {
      response.writeHead(500).end();
      return;
    }
    const data = isRead ? Body.parse(JSON.parse(text)).data : undefined;
    const group = groupOf(path);
    const known = arrivals.get(group) ?? [];
    arrivals.set(group, known);
    known.push({ atMs, event: data && `${data.resourceId}:${data.revision}` });
    response.writeHead(204).end();
  });
});
server.listen(0, '127.0.0.1', () => {
  process.stdout.write(`${JSON.stringify({ port: (server.address() as AddressInfo).port })}\n`);
});
