import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { Pool } from 'undici';
import { createLog } from '../../app/log.ts';
import { createBodyOf } from '../../command/workers/webhooks/message-body.ts';
import { signedHeaders } from '../../command/workers/webhooks/sign.ts';
import { sampleNotification, SECRET } from '../support/webhook-rows.ts';

/**
 * The limit for deliveries: loops over undici that record nothing. `GET /repeated/<count>` sends one request again and
 * again; it has the headers and the length of a webhook. `GET /signed/<count>` makes and signs each request, as a worker
 * must. Runs as a separate process (`child-server.ts`).
 */
const RECEIVER = process.env['RECEIVER'] ?? '';
const ENDPOINTS = Number(process.env['ENDPOINTS']);
const IN_FLIGHT = Number(process.env['IN_FLIGHT']);

const pools = Array.from(
  { length: ENDPOINTS },
  () => new Pool(RECEIVER, { connections: IN_FLIGHT, pipelining: 1 }),
);
const bodyOf = createBodyOf({
  baseUrl: () => 'http://127.0.0.1',
  readResource: async () => undefined,
  log: createLog('silent'),
});

interface Webhook {
  readonly headers: Readonly<Record<string, string>>;
  readonly body: Buffer;
}

const newWebhook = async (): Promise<Webhook> => {
  const message = sampleNotification();
  const body = await bodyOf(1, message, 'thin');
  const timestamp = Math.floor(Date.now() / 1_000);
  const headers = {
    'content-type': 'application/json',
    'user-agent': 'buyer-exchange/1',
    'accept-encoding': 'identity',
    traceparent: `00-${message.id.replaceAll('-', '')}-0000000000000000-01`,
    ...signedHeaders([SECRET], false, { id: `msg_${message.id}`, timestamp, body }),
  };
  return { headers, body };
};
const repeated = await newWebhook();

const sendAll = async (pool: Pool, path: string, count: number, isSigned: boolean): Promise<void> => {
  let left = count;
  const lane = async (): Promise<void> => {
    while (left > 0) {
      left -= 1;
      const { headers, body } = isSigned ? await newWebhook() : repeated;
      const answer = await pool.request({ method: 'POST', path, headers, body });
      await answer.body.dump();
      if (answer.statusCode !== 204) throw new Error(`status ${answer.statusCode}`);
    }
  };
  await Promise.all(Array.from({ length: IN_FLIGHT }, lane));
};

const server = createServer((request, response) => {
  const [, kind, count] = request.url?.split('/') ?? [];
  const each = Number(count) / ENDPOINTS;
  const all = pools.map((pool, n) => sendAll(pool, `/bare/all/${n}`, each, kind === 'signed'));
  void Promise.all(all).then(() => response.end());
});
server.listen(0, '127.0.0.1', () => {
  process.stdout.write(`${JSON.stringify({ port: (server.address() as AddressInfo).port })}\n`);
});
