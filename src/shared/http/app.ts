import express, {
  type ErrorRequestHandler,
  type Express,
  type Request,
  type RequestHandler,
  type Response,
} from 'express';
import type { Histogram } from 'prom-client';
import { logWhenDone } from './access-log.ts';
import { apiErrorOf } from './api-error-of.ts';
import { ApiError } from './errors.ts';
import { beginExchange, exchangeOf } from './exchange.ts';
import type { Gate } from './gate.ts';
import { refuseAmbiguous } from './guard.ts';
import { limitOf, type Route } from './route.ts';
import { routeHandler, type RouteServices } from './route-handler.ts';
import type { HeaderLines } from './security-headers.ts';
import { sendEmpty, sendError } from './send.ts';

export interface AppOptions extends RouteServices {
  readonly routes: readonly Route[];
  /** On every answer. */
  readonly headers: HeaderLines;
  /** Request durations by route, method and status. */
  readonly durations?: Histogram;
}

/** The Express application of the declared routes: nothing answers that is not declared. */
export const createApp = (options: AppOptions): Express => {
  const app = express();
  app.disable('x-powered-by');
  app.disable('etag');
  app.enable('case sensitive routing');
  app.enable('strict routing');
  app.set('query parser', false);
  app.use(begin(options));
  for (const [path, routes] of byPath(options.routes)) {
    const pattern = path.replaceAll(/\{(\w+)\}/g, ':$1');
    const here = app.route(pattern);
    for (const route of routes) here[route.method](routeHandler(route, options));
    here.all(otherMethod(path, routes, options.gate));
  }
  app.use(unknownPath(options.gate));
  app.use(whatExpressThrows(options));
  return app;
};

/** Fixed paths before those with a parameter in their place: `/things/search` is no thing of id `search`. */
const byPath = (routes: readonly Route[]): readonly (readonly [string, readonly Route[]])[] => {
  const paths = new Map<string, Route[]>();
  for (const route of routes) paths.set(route.path, [...(paths.get(route.path) ?? []), route]);
  // '{' sorts behind every character of a fixed segment.
  return [...paths].sort(([one], [other]) => (one < other ? -1 : 1));
};

const begin =
  ({ log, durations, headers }: AppOptions): RequestHandler =>
  (request, response, next) => {
    const exchange = beginExchange(request, response);
    response.setHeader('X-Request-Id', exchange.requestId);
    for (const [name, value] of headers) response.setHeader(name, value);
    logWhenDone(request, response, exchange, log, durations);
    refuseAmbiguous(request);
    next();
  };

/** Counted for the client's address, unless the path is one that is not counted at all. */
const otherMethod = (path: string, routes: readonly Route[], gate: Gate): RequestHandler => {
  const isCounted = routes.some((route) => limitOf(route) !== 'none');
  const methods = routes.map(({ method }) => method.toUpperCase());
  const allow = [...methods, ...(methods.includes('GET') ? ['HEAD'] : []), 'OPTIONS'].join(', ');
  return async (request, response) => {
    exchangeOf(response).route = path;
    if (isCounted) await gate.countUnrouted(request, response);
    if (request.method === 'OPTIONS') return sendEmpty(response, 204, { Allow: allow });
    const message = `This resource knows ${allow}.`;
    return sendError(response, new ApiError({ code: 'METHOD_NOT_ALLOWED', message }, { Allow: allow }));
  };
};

/** Public documents and assets are not counted, also when they do not exist (specification, Rate limits). */
const isUncounted = ({ method, path }: Request): boolean =>
  path.startsWith('/.well-known/') ||
  (path.startsWith('/assets/') && (method === 'GET' || method === 'HEAD'));

const unknownPath =
  (gate: Gate): RequestHandler =>
  async (request, response) => {
    if (!isUncounted(request)) await gate.countUnrouted(request, response);
    sendError(response, new ApiError({ code: 'NOT_FOUND', message: 'No such resource. See /openapi.json.' }));
  };

/** Express itself throws only for a path that it cannot decode; the rest comes from `begin`. */
const whatExpressThrows =
  ({ log, gate }: AppOptions): ErrorRequestHandler =>
  async (error: unknown, request, response, _next) => {
    const { requestId } = exchangeOf(response);
    const refusal = isBrokenPath(error) ? await brokenPath(gate, request, response) : apiErrorOf(error);
    if (refusal.status >= 500) log.error({ err: error, requestId }, 'request failed');
    sendError(response, refusal);
  };

const isBrokenPath = (error: unknown): boolean =>
  !(error instanceof ApiError) && error instanceof Error && 'status' in error && error.status === 400;

const brokenPath = (gate: Gate, request: Request, response: Response): Promise<ApiError> =>
  gate.countUnrouted(request, response).then(
    () =>
      new ApiError({
        code: 'BAD_REQUEST',
        message: 'The path has broken percent-encoding. Encode it as UTF-8.',
      }),
    apiErrorOf,
  );
