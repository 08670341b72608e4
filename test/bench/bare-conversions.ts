import express from 'express';
import { Pool } from 'pg';

/** Express 5, `express.json`, one prepared insert with a unique key: no accounts, no checks, no events. */

const pool = new Pool({ connectionString: process.env['DATABASE_URL'], max: 10 });
await pool.query(`
  create table if not exists express_conversions (
    source_key text not null, event_type text not null, event_id text not null, event_time timestamptz not null,
    value float8, currency text, primary key (source_key, event_type, event_id))`);

interface Item {
  readonly eventId: string;
  readonly eventTime: string;
  readonly eventType?: string;
  readonly value?: number;
  readonly currency?: string;
}

const app = express();
app.use(express.json({ limit: '16mb' }));
app.post('/event-sources/:key/events', async (request, response) => {
  const { events } = request.body as { readonly events: readonly Item[] };
  const { rowCount } = await pool.query({
    name: 'conversions',
    text: `insert into express_conversions
           select $1, t, i, at, v, c
           from unnest($2::text[], $3::text[], $4::timestamptz[], $5::float8[], $6::text[]) as n(t, i, at, v, c)
           on conflict do nothing`,
    values: [
      request.params.key,
      events.map(({ eventType }) => eventType ?? 'custom'),
      events.map(({ eventId }) => eventId),
      events.map(({ eventTime }) => eventTime),
      events.map(({ value }) => value ?? null),
      events.map(({ currency }) => currency ?? null),
    ],
  });
  const accepted = rowCount ?? 0;
  response.json({ data: { accepted, duplicates: events.length - accepted }, error: null });
});
const server = app.listen(0, '127.0.0.1', () => {
  const address = server.address();
  process.stdout.write(`${JSON.stringify({ port: typeof address === 'object' ? address?.port : 0 })}\n`);
});
