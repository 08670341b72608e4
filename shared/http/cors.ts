import type { IncomingMessage, ServerResponse } from 'node:http';
import type { VerifiedPrincipal } from './principal.ts';
import type { RouteBase } from './route.ts';

/** The origins whose pages may call the API with a bearer credential (https://fetch.spec.whatwg.org). */
export interface BrowserOrigins {
  /** By any account: a preflight carries no credential. */
  isRegistered(origin: string): Promise<boolean>;
  isOfAccount(customerId: number, origin: string): Promise<boolean>;
}

/** Excludes `null`, which any sandboxed page can send. */
const ORIGIN = /^[a-z][a-z0-9+.-]{1,30}:\/\/[^\s/,]{1,260}$/;

const originOf = ({ headers: { origin } }: IncomingMessage): string | undefined =>
  origin !== undefined && ORIGIN.test(origin) ? origin : undefined;

const ALLOWED_HEADERS =
  'Authorization, Content-Type, Idempotency-Key, Last-Event-ID, Mcp-Protocol-Version, Mcp-Session-Id, X-Request-Id';
const EXPOSED_HEADERS =
  'RateLimit-Limit, RateLimit-Remaining, RateLimit-Reset, Retry-After, X-Request-Id, Idempotent-Replayed, WWW-Authenticate, Mcp-Session-Id';
const PREFLIGHT_SECONDS = '600';

const VARY_ORIGIN = { Vary: 'Origin' };

/** On the answer to any origin, so that a cache does not give one origin the answer for another. */
export const varyByOrigin = (response: ServerResponse): void => {
  response.setHeader('Vary', VARY_ORIGIN.Vary);
};

const ANY_ORIGIN = { 'Access-Control-Allow-Origin': '*' };

/** See `RouteBase.anyOrigin`. Before the request is counted, so that a refusal carries the header, too. */
export const allowAnyOrigin = (response: ServerResponse): void => {
  response.setHeader('Access-Control-Allow-Origin', ANY_ORIGIN['Access-Control-Allow-Origin']);
};

type RoutesOfPath = readonly Pick<RouteBase, 'anyOrigin'>[];

/** @param methods separated by commas */
export const preflightHeaders = async (
  origins: BrowserOrigins | undefined,
  request: IncomingMessage,
  methods: string,
  routes: RoutesOfPath,
): Promise<Readonly<Record<string, string>>> => {
  const isPreflight = request.headers['access-control-request-method'] !== undefined;
  const allowed = isPreflight ? await allowedOrigin(origins, request, routes) : undefined;
  if (allowed === undefined) return VARY_ORIGIN;
  return {
    ...VARY_ORIGIN,
    ...allowed,
    'Access-Control-Allow-Methods': methods,
    'Access-Control-Allow-Headers': ALLOWED_HEADERS,
    'Access-Control-Max-Age': PREFLIGHT_SECONDS,
  };
};

const allowedOrigin = async (
  origins: BrowserOrigins | undefined,
  request: IncomingMessage,
  routes: RoutesOfPath,
): Promise<typeof ANY_ORIGIN | undefined> => {
  if (routes.some(({ anyOrigin }) => anyOrigin)) return ANY_ORIGIN;
  const origin = originOf(request);
  if (origins === undefined || origin === undefined) return undefined;
  return (await origins.isRegistered(origin)) ? { 'Access-Control-Allow-Origin': origin } : undefined;
};

/** Cookies never work from another origin: `Access-Control-Allow-Credentials` is not sent. */
export const allowOrigin = async (
  origins: BrowserOrigins,
  request: IncomingMessage,
  response: ServerResponse,
  { kind, customerId }: VerifiedPrincipal,
): Promise<void> => {
  const origin = originOf(request);
  if (origin === undefined || kind === 'session') return;
  if (!(await origins.isOfAccount(customerId, origin))) return;
  response.setHeader('Access-Control-Allow-Origin', origin);
  response.setHeader('Access-Control-Expose-Headers', EXPOSED_HEADERS);
};
