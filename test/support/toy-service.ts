import { Writable } from 'node:stream';
import { pino } from 'pino';
import { Histogram, Registry } from 'prom-client';
import { z } from 'zod';
import { sleep } from '../../shared/async/backoff.ts';
import { EventStoreUnavailableError } from '../../shared/event-store/event-store.ts';
import { createApp } from '../../shared/http/app.ts';
import { createAuthenticate, type CredentialVerifiers } from '../../shared/http/authenticate.ts';
import type { BrowserOrigins } from '../../shared/http/cors.ts';
import { documentRoutes } from '../../shared/http/document-routes.ts';
import { ApiError } from '../../shared/http/errors.ts';
import type { CredentialKind, Principal, Verification } from '../../shared/http/principal.ts';
import type { ReadinessPart } from '../../shared/async/readiness.ts';
import { route, type AnyRoute, type RequestContext, type Route } from '../../shared/http/route.ts';
import { pageOf, pagingParameters, pathIntegerId, queryBoolean } from '../../shared/http/schemas.ts';
import { securityHeaders } from '../../shared/http/security-headers.ts';
import { startServer, type ClientTimeouts, type RunningServer } from '../../shared/http/server.ts';
import { serviceRoutes } from '../../shared/http/service-routes.ts';
import { createMemoryGate, type MemoryGateOptions } from './memory-gate.ts';
import { createResponseCheck, type ResponseCheck } from './response-check.ts';

/** Trivial routes, so that tests see only the kernel's behaviour. */

const tag = 'Toys';
const Toy = z.object({ id: z.int(), name: z.string() }).meta({ id: 'Toy' });
const params = z.object({ id: pathIntegerId('toy') });
const failures: Readonly<Record<string, () => unknown>> = {
  bug: () => new Error('the password is hunter2'),
  text: () => 'a rejected string',
  store: () => new EventStoreUnavailableError('down'),
  socket: () => Object.assign(new Error('connect ECONNREFUSED 10.0.0.1:5432'), { code: 'ECONNREFUSED' }),
  refusal: () => new ApiError({ code: 'CONFLICT', message: 'No.', details: { limit: 3 } }, { 'X-Toy': '1' }),
  'two-faced': () => undefined,
};

export const toyRoutes = (seen: RequestContext[]): readonly Route[] => [
  route({
    method: 'get',
    path: '/toys',
    operationId: 'listToys',
    summary: 'List toys',
    tag,
    access: 'exchange:read',
    query: z.object({
      ...pagingParameters(200),
      archived: queryBoolean('Archived ones too.').optional(),
      name: z.string().min(1).optional(),
    }),
    responses: { 200: { description: 'Toys', data: z.array(Toy), paginated: true } },
    handle: async ({ query: { name, archived, ...paging } }) => {
      const { take, skip } = pageOf(paging);
      const data = [{ id: archived === true ? 2 : 1, name: name ?? 'all' }];
      return { status: 200, data, pagination: { skip, take, total: 1, hasMore: false } };
    },
  }),
  route({
    method: 'post',
    path: '/toys',
    operationId: 'createToy',
    summary: 'Create a toy',
    tag,
    access: 'exchange:write',
    body: z.object({
      name: z.string().min(1).max(200),
      labels: z.record(z.string(), z.unknown()).optional(),
      caps: z.array(z.object({ window: z.object({ interval: z.int().min(1) }) })).optional(),
    }),
    responses: { 201: { description: 'The toy', data: Toy } },
    handle: async ({ body, request }) => {
      seen.push(request);
      return { status: 201, dataJson: `{"id":1,"name":${JSON.stringify(body.name)}}` };
    },
  }),
  route({
    method: 'get',
    path: '/toys/{id}',
    operationId: 'getToy',
    summary: 'Read a toy',
    tag,
    access: 'exchange:read',
    params,
    responses: { 200: { description: 'The toy', data: Toy } },
    handle: async ({ params: { id } }) => ({ status: 200, data: { id, name: 'toy' } }),
  }),
  route({
    method: 'delete',
    path: '/toys/{id}',
    operationId: 'deleteToy',
    summary: 'Archive a toy',
    tag,
    access: 'exchange:write',
    params,
    responses: { 204: { description: 'Archived' } },
    handle: async ({ request }) => {
      seen.push(request);
      return { status: 204 };
    },
  }),
  route({
    method: 'get',
    path: '/toys/newest',
    operationId: 'getNewestToy',
    summary: 'A fixed path next to a parameter',
    tag,
    access: 'public',
    responses: { 200: { description: 'The toy', data: Toy } },
    handle: async () => ({ status: 200, data: { id: 7, name: 'newest' } }),
  }),
  route({
    method: 'post',
    path: '/echo',
    operationId: 'echo',
    summary: 'What came in',
    tag,
    access: 'public',
    body: z.object({ value: z.unknown() }),
    bodyBytesMax: 2_000_000,
    responses: { 200: { description: 'The value', data: z.unknown() } },
    handle: async ({ body, request }) => {
      seen.push(request);
      return { status: 200, data: body.value ?? null };
    },
  }),
  route({
    method: 'get',
    path: '/campaigns/{id}/slow',
    operationId: 'slow',
    summary: 'Takes its time',
    tag,
    access: 'public',
    params: z.object({ id: z.string().min(1) }),
    query: z.object({ forMs: pathIntegerId('time').optional() }),
    responses: { 200: { description: 'Its id', data: z.object({ id: z.string() }) } },
    handle: async ({ params: { id }, query: { forMs = 1 }, request }) => {
      seen.push(request);
      await sleep(forMs);
      return { status: 200, data: { id } };
    },
  }),
  route({
    method: 'post',
    path: '/failures/{kind}',
    operationId: 'fail',
    summary: 'Fails',
    tag,
    access: 'public',
    params: z.object({ kind: z.string() }),
    responses: { 200: { description: 'Never', data: z.object({ a: z.int() }) } },
    handle: async ({ params: { kind } }) => {
      const failure = failures[kind]?.();
      return failure === undefined
        ? { status: 200, data: { a: 1, undeclared: true } }
        : Promise.reject(failure);
    },
  }),
];

export const goodKey = 'toy_key.good~/+-_=';

/** Names of keys that are no longer valid. */
export const revokedKeys = new Set<string>();

const verifiedAs = (kind: CredentialKind, actor: string, more: Partial<Principal> = {}) =>
  ({
    outcome: 'verified',
    principal: { kind, customerId: 7, actor, scopes: ['exchange:read', 'exchange:write'], ...more },
  }) as const;

const rejected: Verification = { outcome: 'rejected' };

const verify: CredentialVerifiers = {
  apiKey: async (credential) => {
    if (credential === 'broken-store') throw new Error('connection terminated');
    if (credential === goodKey) return verifiedAs('api-key', 'api-key:toy');
    // `key-1` and so on are valid.
    const isValid = /^key-\d+$/.test(credential) && !revokedKeys.has(credential);
    return isValid ? verifiedAs('api-key', credential) : rejected;
  },
  // `at_key-1` and so on are valid for the API, `at_read-1` only to read, `at_other-1` for `/other`. Several
  // tokens may belong to one grant.
  accessToken: async (token, _connection, resource) => {
    if (token === 'at_expired') return { outcome: 'expired' };
    const [, what] = /^at_(key|read|other)-\d+$/.exec(token) ?? [];
    if (what === undefined || resource !== (what === 'other' ? '/other' : '/toys')) return rejected;
    const more = what === 'read' ? { scopes: ['exchange:read' as const] } : {};
    return verifiedAs('access-token', 'oauth:grant', { subject: `access-token:${token}`, ...more });
  },
  // `session-1` and so on are valid.
  session: async (secret) => {
    if (secret === 'broken-store') throw new Error('connection terminated');
    return /^session-\d+$/.test(secret) ? verifiedAs('session', `session:${secret}`) : rejected;
  },
};

export interface ToyService {
  readonly port: number;
  readonly url: string;
  readonly server: RunningServer;
  readonly logLines: Record<string, unknown>[];
  readonly seen: RequestContext[];
  readonly check: ResponseCheck;
  stopping: boolean;
}

/** The kernel with the toy routes, listening on a free port. */
export interface ToyOptions extends MemoryGateOptions {
  readonly parts?: readonly ReadinessPart[];
  readonly connectionsMax?: number;
  readonly timeouts?: ClientTimeouts;
  readonly drainDelayMs?: number;
  /** In addition to the toy routes. */
  readonly routes?: readonly AnyRoute[];
  readonly origins?: BrowserOrigins;
  /** In the format of the route table. */
  readonly unbuilt?: readonly string[];
}

export const startToyService = async ({
  parts = [],
  connectionsMax,
  timeouts,
  drainDelayMs = 0,
  routes: more,
  unbuilt = [],
  origins,
  ...gate
}: ToyOptions = {}): Promise<ToyService> => {
  const logLines: Record<string, unknown>[] = [];
  const log = pino(
    new Writable({
      write: (chunk: Buffer, _encoding, done) => {
        logLines.push(JSON.parse(chunk.toString()) as Record<string, unknown>);
        done();
      },
    }),
  );
  const seen: RequestContext[] = [];
  const check = createResponseCheck();
  const metrics = new Registry();
  const routes = [...toyRoutes(seen), ...(more ?? [])];
  const site = { baseUrl: (): string => 'https://exchange.test', apiPath: '/toys' };
  const headers = securityHeaders(true);
  const declared = [
    ...routes,
    ...serviceRoutes({ version: '1.2.3', parts, metrics, stopping: () => service.stopping }),
  ];
  const documents = documentRoutes(
    {
      title: 'Toys',
      description: 'Toys of tests.',
      version: '1.2.3',
      ...site,
      apiName: 'Toy',
      llms: () => '',
      texts: () => ({ tags: {}, members: {}, limits: {} }),
      skill: () => '# Toys\n',
      resources: [
        { path: '', operationId: 'getProtectedResource', scopes: [] },
        { path: '/toys', operationId: 'getToyProtectedResource', scopes: [] },
      ],
    },
    declared,
  );
  const app = createApp({
    routes: [...declared, ...documents],
    unbuilt,
    headers,
    gate: createMemoryGate(createAuthenticate(verify, site), gate),
    site,
    ...(origins === undefined ? {} : { origins }),
    log,
    durations: new Histogram({
      name: 'http_server_request_duration_seconds',
      help: 'Durations',
      labelNames: ['http_route', 'http_request_method', 'http_response_status_code'],
      registers: [metrics],
    }),
    onAnswer: check.onAnswer,
  });
  const server = await startServer(
    app,
    {
      host: '127.0.0.1',
      port: 0,
      headers,
      drainDelayMs,
      ...(connectionsMax === undefined ? {} : { connectionsMax }),
      ...(timeouts === undefined ? {} : { timeouts }),
    },
    log,
  );
  const service: ToyService = {
    port: server.port,
    url: `http://127.0.0.1:${server.port}`,
    server,
    logLines,
    seen,
    check,
    stopping: false,
  };
  return service;
};
