import { randomBytes } from 'node:crypto';
import express from 'express';
import knex from 'knex';
import { Pool } from 'pg';
import * as bareAdvertisers from './advertiser-table.ts';

/**
 * A simple server as an engineer would write it in an afternoon: Express 5, one prepared statement for each request, no
 * accounts, no events, no checks. Runs as a separate process, like the service.
 */

const pool = new Pool({ connectionString: process.env['DATABASE_URL'], max: 10 });
await pool.query(bareAdvertisers.tables);

const insert = `insert into bare_advertisers (customer_id, name, status, sandbox, primary_currency, description,
  brand_countries, channels, apply_mode, autonomy, controls, labels)
  values (1, $1, 'ACTIVE', false, $2, $3, $4, $5, 'MANUAL', $6, $7, $8) returning *`;
const { list, detail } = bareAdvertisers;

const builder = knex({
  client: 'pg',
  connection: process.env['DATABASE_URL'] ?? '',
  pool: { min: 1, max: 10 },
});

const app = express();
app.use(express.json());
app.post('/advertisers', async (request, response) => {
  const body = request.body as {
    name: string;
    primaryCurrency?: string;
    description?: string;
    brandCountries?: string[];
    channels?: string[];
  };
  const { rows } = await pool.query({
    name: 'insert',
    text: insert,
    values: [
      body.name,
      body.primaryCurrency ?? 'USD',
      body.description ?? null,
      body.brandCountries ?? [],
      body.channels ?? [],
      '{"inventorySelection":"manual"}',
      '{"exclusions":[]}',
      '{}',
    ],
  });
  response.status(201).json({ data: rows[0] as unknown, error: null });
});
app.get('/advertisers', async (_request, response) => {
  const { rows } = await pool.query({ name: 'list', text: list });
  response.json({ data: rows as unknown, error: null });
});
app.get('/knex/advertisers', async (_request, response) => {
  const rows: unknown = await builder('bare_advertisers')
    .where({ customer_id: 1, status: 'ACTIVE' })
    .orderBy([
      { column: 'created_at', order: 'desc' },
      { column: 'id', order: 'desc' },
    ])
    .limit(50);
  response.json({ data: rows, error: null });
});
app.get('/constant', (_request, response) => {
  response.json({ data: { hello: 'world' }, error: null });
});
app.get('/advertisers/:id', async (request, response) => {
  const { rows } = await pool.query({ name: 'detail', text: detail, values: [request.params.id] });
  response.json({ data: rows[0] as unknown, error: null });
});
app.put('/rows/:id', async (request, response) => {
  await pool.query(`create table if not exists bare_rows (id text primary key, body text not null)`);
  await pool.query(
    'insert into bare_rows values ($1, $2) on conflict (id) do update set body = excluded.body',
    [request.params.id, JSON.stringify(request.body)],
  );
  response.json({});
});
app.get('/rows/:id', async (request, response) => {
  const { rows } = await pool.query<{ body: string }>({
    name: 'row',
    text: 'select body from bare_rows where id = $1',
    values: [request.params.id],
  });
  response.type('json').send(`{"data":${rows[0]?.body ?? 'null'},"error":null}`);
});
app.post('/fill', async (request, response) => {
  const { count } = request.body as { count: number };
  await pool.query(
    `insert into bare_advertisers (customer_id, name, status, sandbox, primary_currency, brand_countries, channels,
       apply_mode, autonomy, controls, labels)
     select 1, 'Advertiser ' || $2 || n, 'ACTIVE', false, 'USD', '{US,DE}', '{ctv,display}', 'MANUAL',
       '{"inventorySelection":"manual"}', '{"exclusions":[]}', '{}' from generate_series(1, $1::int) n`,
    [count, randomBytes(4).toString('hex')],
  );
  response.json({});
});
const server = app.listen(0, '127.0.0.1', () => {
  const address = server.address();
  process.stdout.write(`${JSON.stringify({ port: typeof address === 'object' ? address?.port : 0 })}\n`);
});
