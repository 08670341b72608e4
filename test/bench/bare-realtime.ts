import express, { type Response } from 'express';
import { Client, Pool } from 'pg';

/**
 * The limit for realtime streams: Express 5, one insert that also notifies, and a listener that writes to every stream.
 * No accounts, no filters, nothing to resume. Runs as a separate process (`child-server.ts`).
 */
const connectionString = process.env['DATABASE_URL'];
const pool = new Pool({ connectionString, max: 10 });
await pool.query('create table bare_live (id bigint generated always as identity primary key, name text)');

const streams = new Set<Response>();
const listener = new Client({ connectionString });
await listener.connect();
await listener.query('listen bare_live');
listener.on('notification', ({ payload = '' }) => {
  for (const stream of streams)
    stream.write(`id: ${payload}\nevent: created\ndata: {"data":{"resourceId":"${payload}"}}\n\n`);
});

const app = express();
app.use(express.json());
app.post('/rows', async (request, response) => {
  const { rows } = await pool.query({
    name: 'insert',
    text: `with added as (insert into bare_live (name) values ($1) returning id)
           select id::int, pg_notify('bare_live', id::text) from added`,
    values: [(request.body as { name: string }).name],
  });
  response.status(201).json({ data: { id: (rows[0] as { id: number }).id }, error: null });
});
app.get('/stream', (_request, response) => {
  response.writeHead(200, { 'Content-Type': 'text/event-stream' }).flushHeaders();
  response.write('event: ready\ndata: {}\n\n');
  streams.add(response);
  response.once('close', () => streams.delete(response));
});
const server = app.listen(0, '127.0.0.1', () => {
  const address = server.address();
  process.stdout.write(`${JSON.stringify({ port: typeof address === 'object' ? address?.port : 0 })}\n`);
});
