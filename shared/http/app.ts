import express, {
  type ErrorRequestHandler,
  type Express,
  type Request,
  type RequestHandler,
  type Response,
  type Router,
} from 'express';
import type { Histogram } from 'prom-client';
import { startRequestSpan, type RequestSpan } from '../tracing/tracing.ts';
import { probePaths } from './service-routes.ts';
import { createAccessLog } from './access-log.ts';
import { apiErrorOf, isClientGoneError } from './api-error-of.ts';
import { errorEnvelope } from './envelope.ts';
import { ApiError, KnownHolderError } from './errors.ts';
import { handedOverHandler } from './handed-over-handler.ts';
import { beginExchange, exchangeOf } from './http-exchange.ts';
import { refuseAmbiguous } from './guard.ts';
import { preflightHeaders } from './cors.ts';
import { inTime } from './deadline.ts';
import { expressPath, expressPaths, inOrder, type AnyRoute } from './route.ts';
import { routeHandler, type RouteServices } from './route-handler.ts';
import type { HeaderLines } from './security-headers.ts';
import { sendEmpty, sendError } from './send.ts';

export interface AppOptions extends RouteServices {
  readonly routes: readonly AnyRoute[];
  readonly unbuilt?: readonly string[];
  readonly headers: HeaderLines;
  readonly durations?: Histogram;
}

export const createApp = (options: AppOptions): Express => {
  const app = express();
  app.disable('x-powered-by').disable('etag').set('query parser', false).enable('case sensitive routing');
  app.use(beginning(options));
  app.use(...routers(options));
  app.use(unknownPath(options));
  app.use(answerError(options));
  return app;
};

const beginning = ({ log, durations, headers }: AppOptions): RequestHandler => {
  const logWhenDone = createAccessLog(log, durations);
  return (request, response, next) => {
    const exchange = beginExchange(response);
    response.setHeader('X-Request-Id', exchange.requestId);
    for (const [name, value] of headers) response.setHeader(name, value);
    const span = probePaths.has(request.path) ? undefined : spanOf(request);
    logWhenDone(request, response, exchange, span);
    refuseAmbiguous(request);
    if (span === undefined) next();
    else span.within(next);
  };
};

const spanOf = ({ method, headers: { traceparent } }: Request): RequestSpan | undefined =>
  startRequestSpan(method, typeof traceparent === 'string' ? traceparent : undefined);

/** A router tries its patterns one after the other, so each resource has its own. The rest is tried after it. */
const routers = (options: AppOptions): RequestHandler[] => {
  const { routes, unbuilt = [], site } = options;
  const resourceOf = (path: string): string => resourceIn(path, `${site.apiPath}/`);
  const routesOf = groups(routes, ({ path }) => resourceOf(path));
  const unbuiltOf = groups(unbuilt, resourceOf);
  const routerOf = (resource: string): Router =>
    resourceRouter(routesOf.get(resource) ?? [], unbuiltOf.get(resource) ?? [], options);
  const known = new Map(
    [...routesOf.keys(), ...unbuiltOf.keys()].map((resource) => [resource, routerOf(resource)]),
  );
  const rest = routerOf('');
  known.delete('');
  const ofResource: RequestHandler = (request, response, next) => {
    const router = known.get(resourceOf(request.path));
    if (router === undefined) next();
    else router(request, response, next);
  };
  return [ofResource, rest];
};

/** @returns the first name after the API's path, e.g. `campaigns`; empty for other paths */
const resourceIn = (path: string, start: string): string => {
  if (!path.startsWith(start) || path.startsWith('{', start.length)) return '';
  const end = path.indexOf('/', start.length);
  return path.slice(start.length, end === -1 ? undefined : end);
};

const resourceRouter = (
  routes: readonly AnyRoute[],
  unbuilt: readonly string[],
  options: AppOptions,
): Router => {
  const router = express.Router({ caseSensitive: true, strict: true });
  // Before the routes: `/things/search` is an area, not the resource with id `search`.
  for (const path of unbuilt) router.use(expressPath(path), notBuilt(path, options));
  for (const [path, ofPath] of groups(inOrder(routes), (route) => route.path)) {
    const [first] = ofPath;
    const resource = router.route(expressPaths(first));
    for (const route of ofPath) {
      const handler = 'serve' in route ? handedOverHandler(route, options) : routeHandler(route, options);
      resource[route.method](handler);
    }
    resource.all(otherMethod(path, ofPath, options));
  }
  return router;
};

const groups = <Item>(
  items: readonly Item[],
  keyOf: (item: Item) => string,
): ReadonlyMap<string, readonly [Item, ...Item[]]> => {
  const byKey = new Map<string, [Item, ...Item[]]>();
  for (const item of items) {
    const group = byKey.get(keyOf(item));
    if (group === undefined) byKey.set(keyOf(item), [item]);
    else group.push(item);
  }
  return byKey;
};

const notBuilt = (path: string, options: AppOptions): RequestHandler => {
  const { gate, origins } = options;
  const answerOptions = otherMethod(path, [], options);
  return async (request, response, next) => {
    if (request.method === 'OPTIONS') return answerOptions(request, response, next);
    const exchange = exchangeOf(response);
    exchange.pattern = path;
    const limited = { method: request.method, path, access: 'exchange:read' } as const;
    exchange.principal = await gate.admit(limited, request, response, origins);
    const message =
      'This area of the API is not available yet. See /openapi.json for the available operations.';
    throw new ApiError({ code: 'NOT_IMPLEMENTED', message });
  };
};

const otherMethod = (
  path: string,
  routes: readonly AnyRoute[],
  { gate, origins, log }: AppOptions,
): RequestHandler => {
  const methods = routes.map(({ method }) => method.toUpperCase());
  const implied = [...(methods.includes('GET') ? ['HEAD'] : []), 'OPTIONS'];
  const allow = [...new Set([...methods, ...implied])].join(', ');
  const isCounted = routes.every(({ limit }) => limit !== 'none');
  return async (request, response) => {
    exchangeOf(response).pattern = path;
    if (isCounted) await gate.countUnrouted(request, response, path);
    if (request.method === 'OPTIONS') {
      const allowed = await inTime(preflightHeaders(origins, request, allow, routes), (error) =>
        log.warn({ err: error, route: path }, 'failed after it was answered 503'),
      );
      return sendEmpty(response, 204, { Allow: allow, ...allowed });
    }
    const message = `Method not allowed. Allowed: ${allow}.`;
    throw new ApiError({ code: 'METHOD_NOT_ALLOWED', message }, { Allow: allow });
  };
};

const unknownPath =
  ({ gate }: AppOptions): RequestHandler =>
  async (request, response) => {
    await gate.countUnrouted(request, response, request.path);
    throw new ApiError({ code: 'NOT_FOUND', message: 'No such resource. See /openapi.json.' });
  };

const answerError =
  ({ log, gate, onRefused, onAnswer }: AppOptions): ErrorRequestHandler =>
  async (error: unknown, request, response, _next) => {
    const { requestId, pattern, handling, principal, errorForm } = exchangeOf(response);
    const isBrokenPath = error instanceof URIError && pattern === undefined;
    const refusal = isBrokenPath ? await brokenPath(gate, request, response) : apiErrorOf(error);
    if (refusal.status >= 500 && refusal.status !== 501 && !isClientGoneError(refusal)) {
      // An unavailable store is an operator's problem; any other error is a bug.
      if (refusal.status === 503)
        log.warn({ err: error, requestId, route: pattern }, 'a store is not available');
      else log.error({ err: error, requestId, route: pattern }, 'request failed');
    }
    sendError(response, refusal, errorForm);
    if (handling === undefined) return;
    const { route, params } = handling;
    onAnswer?.(route, refusal.status, errorEnvelope(refusal.body), response.getHeaders());
    const ofHolder = error instanceof KnownHolderError ? error : undefined;
    const holder = ofHolder?.holder ?? principal;
    if (holder === undefined) return;
    onRefused?.({ route, holder, params: { ...params, ...ofHolder?.names }, requestId, refusal });
  };

/** The router throws a `URIError` if a path parameter is not percent-encoded UTF-8. */
const brokenPath = (gate: AppOptions['gate'], request: Request, response: Response): Promise<ApiError> =>
  gate.countUnrouted(request, response, request.path).then(
    () =>
      new ApiError({
        code: 'BAD_REQUEST',
        message: 'The path has broken percent-encoding. Encode it as UTF-8.',
      }),
    apiErrorOf,
  );
