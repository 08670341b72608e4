import { destination, pino } from 'pino';
import { Histogram } from 'prom-client';
import { z } from 'zod';
import { verifyApiKey } from '../../src/query/accounts/verify-api-key.ts';
import { createApp } from '../../src/shared/http/app.ts';
import { createAuthenticate } from '../../src/shared/http/authenticate.ts';
import { route, type Route } from '../../src/shared/http/route.ts';
import { startServer } from '../../src/shared/http/server.ts';
import { createPool } from '../../src/shared/postgres/pool.ts';

/** The kernel alone, with the log lines of the real service going nowhere: what does it add to a constant? */

const log = pino({ level: 'info' }, destination('/dev/null'));
const pool = createPool(
  { connectionString: process.env['DATABASE_URL'] ?? '', applicationName: 'bench-kernel', max: 10 },
  log,
);
const constant = (path: string, access: Route['access']): Route =>
  route({
    method: 'get',
    path,
    operationId: path.slice(1),
    summary: 'A constant',
    tag: 'Bench',
    access,
    responses: { 200: { description: 'A constant', data: z.unknown() } },
    handle: async () => ({ status: 200, dataJson: '{"hello":"world"}' }),
  });
const app = createApp({
  routes: [constant('/public', 'public'), constant('/private', 'exchange:read')],
  authenticate: createAuthenticate(verifyApiKey(pool), () => ''),
  log,
  durations: new Histogram({ name: 'durations', help: 'x', labelNames: ['route', 'method', 'status'] }),
});
const { port } = await startServer(app, { host: '127.0.0.1', port: 0 }, log);
process.stdout.write(`${JSON.stringify({ port })}\n`);
