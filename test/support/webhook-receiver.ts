import { once } from 'node:events';
import { createServer, type IncomingHttpHeaders, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';

export interface ReceivedWebhook {
  readonly path: string;
  readonly headers: IncomingHttpHeaders;
  readonly body: Buffer;
  readonly atMs: number;
  /** Number of the TCP connection. */
  readonly remotePort: number;
}

export interface WebhookReceiver {
  readonly url: string;
  readonly received: ReceivedWebhook[];
  /** The most requests that were open at once. */
  readonly openMax: () => number;
  stop(): Promise<void>;
}

/** A receiver on loopback. @param answer default: 204 */
export const startWebhookReceiver = async (
  answer: (webhook: ReceivedWebhook, response: ServerResponse) => void = (_webhook, response) => {
    response.writeHead(204).end();
  },
  port = 0,
): Promise<WebhookReceiver> => {
  const received: ReceivedWebhook[] = [];
  let [open, openMax] = [0, 0];
  const server = createServer((request, response) => {
    openMax = Math.max(openMax, (open += 1));
    response.on('close', () => (open -= 1));
    const pieces: Buffer[] = [];
    request.on('data', (piece: Buffer) => pieces.push(piece));
    request.on('end', () => {
      const webhook = {
        path: request.url ?? '',
        headers: request.headers,
        body: Buffer.concat(pieces),
        atMs: performance.now(),
        remotePort: request.socket.remotePort ?? 0,
      };
      received.push(webhook);
      answer(webhook, response);
    });
  });
  server.listen(port, '127.0.0.1');
  await once(server, 'listening');
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/hook`,
    received,
    openMax: () => openMax,
    stop: async () => {
      server.close();
      server.closeAllConnections();
    },
  };
};
