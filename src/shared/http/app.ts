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
import { BrokenPathError, createRouteTable } from './route-table.ts';
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
  app.set('query parser', false);
  app.use(serve(options));
  app.use(whatExpressThrows(options));
  return app;
};

type Answerer = (
  request: Request,
  response: Response,
  params: Readonly<Record<string, string>>,
) => Promise<void>;

/** What answers one path: by the method as it was sent, HEAD by what answers GET, others by themselves. */
interface Resource {
  readonly byMethod: ReadonlyMap<string, Answerer>;
  readonly otherwise: Answerer;
}

/**
 * All routes behind one middleware, found by their segments (`route-table.ts`). What is thrown before a route begins
 * goes to Express' error handler.
 */
const serve = (options: AppOptions): RequestHandler => {
  const begin = beginning(options);
  const find = createRouteTable(
    [...byPath(options.routes)].map(([path, routes]) => [path, resourceOf(path, routes, options)] as const),
  );
  const notFound = unknownPath(options.gate);
  return (request, response) => {
    begin(request, response);
    const found = find(request.path);
    if (found === undefined) return notFound(request, response);
    const { byMethod, otherwise } = found.target;
    return (byMethod.get(request.method) ?? otherwise)(request, response, found.params);
  };
};

const byPath = (routes: readonly Route[]): ReadonlyMap<string, readonly Route[]> => {
  const paths = new Map<string, Route[]>();
  for (const route of routes) paths.set(route.path, [...(paths.get(route.path) ?? []), route]);
  return paths;
};

const resourceOf = (path: string, routes: readonly Route[], options: AppOptions): Resource => {
  const byMethod = new Map<string, Answerer>();
  for (const route of routes) {
    const answerer = routeHandler(route, options);
    byMethod.set(route.method.toUpperCase(), answerer);
    if (route.method === 'get') byMethod.set('HEAD', answerer);
  }
  return { byMethod, otherwise: otherMethod(path, routes, options.gate) };
};

const beginning =
  ({ log, durations, headers }: AppOptions) =>
  (request: Request, response: Response): void => {
    const exchange = beginExchange(request, response);
    response.setHeader('X-Request-Id', exchange.requestId);
    for (const [name, value] of headers) response.setHeader(name, value);
    logWhenDone(request, response, exchange, log, durations);
    refuseAmbiguous(request);
  };

/** Counted for the client's address, unless the path is one that is not counted at all. */
const otherMethod = (path: string, routes: readonly Route[], gate: Gate): Answerer => {
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
  (gate: Gate) =>
  async (request: Request, response: Response): Promise<void> => {
    if (!isUncounted(request)) await gate.countUnrouted(request, response);
    sendError(response, new ApiError({ code: 'NOT_FOUND', message: 'No such resource. See /openapi.json.' }));
  };

/** What was thrown before any route began: by the route table, or because the request is ambiguous. */
const whatExpressThrows =
  ({ log, gate }: AppOptions): ErrorRequestHandler =>
  async (error: unknown, request, response, _next) => {
    const { requestId } = exchangeOf(response);
    const refusal =
      error instanceof BrokenPathError ? await brokenPath(gate, request, response) : apiErrorOf(error);
    if (refusal.status >= 500) log.error({ err: error, requestId }, 'request failed');
    sendError(response, refusal);
  };

const brokenPath = (gate: Gate, request: Request, response: Response): Promise<ApiError> =>
  gate.countUnrouted(request, response).then(
    () =>
      new ApiError({
        code: 'BAD_REQUEST',
        message: 'The path has broken percent-encoding. Encode it as UTF-8.',
      }),
    apiErrorOf,
  );
