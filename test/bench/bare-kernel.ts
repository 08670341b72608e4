import { destination, pino } from 'pino';
import { Histogram, Registry } from 'prom-client';
import { z } from 'zod';
import { verifyApiKey } from '../../query/accounts/verify-api-key.ts';
import { createApp } from '../../shared/http/app.ts';
import { createAuthenticate } from '../../shared/http/authenticate.ts';
import { createClientAddress } from '../../shared/http/client-address.ts';
import { createGate } from '../../shared/http/gate.ts';
import { route, type Route } from '../../shared/http/route.ts';
import { securityHeaders, type HeaderLines } from '../../shared/http/security-headers.ts';
import { startServer } from '../../shared/http/server.ts';
import { createRateLimits } from '../../shared/limits/rate-limits.ts';
import { createPool } from '../../shared/postgres/pool.ts';
import { generous } from '../support/generous-limits.ts';
import { reportCpuTime } from './child-server.ts';

/**
 * The HTTP kernel alone, with its log discarded. Measures what it adds to a constant answer, and what authentication,
 * limits and security headers add to that. Counters are in memory, or in Redis with `REDIS_URL`.
 */

const log = pino({ level: 'info' }, destination('/dev/null'));
const databaseUrl = process.env['DATABASE_URL'] ?? '';
const pool = createPool({ connectionString: databaseUrl, applicationName: 'bench-kernel', max: 10 }, log);
/** No limit counts requests below `/.well-known/`. */
const constant = (path: string, options: Pick<Route, 'access'>): Route =>
  route({
    method: 'get',
    path,
    operationId: path.slice(1),
    summary: 'A constant',
    tag: 'Bench',
    responses: { 200: { description: 'A constant', data: z.unknown() } },
    handle: async () => ({ status: 200, dataJson: '{"hello":"world"}' }),
    ...options,
  });
const site = { baseUrl: () => '', apiPath: '' };
const apiKey = verifyApiKey(pool);
const gate = createGate({
  authenticate: createAuthenticate({ apiKey, accessToken: apiKey, session: apiKey }, site),
  clientAddress: createClientAddress({ hops: 0 }),
  ...createRateLimits({
    limits: generous,
    nodes: 1,
    databaseUrl,
    redisUrl: process.env['REDIS_URL'] === '' ? undefined : process.env['REDIS_URL'],
    redisKeyPrefix: `bench-${process.pid}:`,
    log,
    registry: new Registry(),
  }),
});
const durations = new Histogram({
  name: 'durations',
  help: 'x',
  labelNames: ['http_route', 'http_request_method', 'http_response_status_code'],
});
const listen = async (routes: readonly Route[], headers: HeaderLines): Promise<number> => {
  const app = createApp({ routes, headers, gate, site, log, durations });
  return (await startServer(app, { host: '127.0.0.1', port: 0 }, log)).port;
};
const port = await listen(
  [
    constant('/.well-known/public', { access: 'public' }),
    constant('/address', { access: 'public' }),
    constant('/.well-known/verified', { access: 'exchange:read' }),
    constant('/private', { access: 'exchange:read' }),
  ],
  securityHeaders(true),
);
const barePort = await listen([constant('/.well-known/bare', { access: 'public' })], []);
reportCpuTime();
process.stdout.write(`${JSON.stringify({ port, barePort })}\n`);
