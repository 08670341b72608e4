import { createServer, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { Pool } from 'pg';
import { detail, list } from './advertiser-table.ts';

/**
 * The limit for a read from the database: Node's own server and one prepared statement, no framework, no account, no
 * checks. It reads the rows of `bare-express.ts` from the same database.
 */
const pool = new Pool({ connectionString: process.env['DATABASE_URL'], max: 10 });

const answer = (response: ServerResponse, data: unknown): void => {
  const body = JSON.stringify({ data, error: null });
  response
    .writeHead(200, { 'Content-Type': 'application/json', 'Content-Length': Buffer.byteLength(body) })
    .end(body);
};

const PREFIX = '/advertisers/';

const server = createServer((request, response) => {
  const { url = '' } = request;
  const rows = url.startsWith(PREFIX)
    ? pool.query({ name: 'detail', text: detail, values: [url.slice(PREFIX.length)] })
    : pool.query({ name: 'list', text: list });
  void rows.then((result) => {
    const found: readonly unknown[] = result.rows;
    answer(response, url.startsWith(PREFIX) ? found[0] : found);
  });
});
server.listen(0, '127.0.0.1', () => {
  process.stdout.write(`${JSON.stringify({ port: (server.address() as AddressInfo).port })}\n`);
});
