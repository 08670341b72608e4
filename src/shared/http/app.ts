import express, { type ErrorRequestHandler, type Express, type RequestHandler } from 'express';
import type { Histogram } from 'prom-client';
import { logWhenDone } from './access-log.ts';
import { apiErrorOf } from './api-error-of.ts';
import { ApiError } from './errors.ts';
import { beginExchange, exchangeOf } from './exchange.ts';
import { refuseAmbiguous } from './guard.ts';
import type { Route } from './route.ts';
import { routeHandler, type RouteServices } from './route-handler.ts';
import { sendEmpty, sendError } from './send.ts';

export interface AppOptions extends RouteServices {
  readonly routes: readonly Route[];
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
    here.all(otherMethod(path, routes));
  }
  app.use(unknownPath);
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
  ({ log, durations }: AppOptions): RequestHandler =>
  (request, response, next) => {
    const exchange = beginExchange(request, response);
    response.setHeader('X-Request-Id', exchange.requestId);
    logWhenDone(request, response, exchange, log, durations);
    refuseAmbiguous(request);
    next();
  };

const otherMethod = (path: string, routes: readonly Route[]): RequestHandler => {
  const methods = routes.map(({ method }) => method.toUpperCase());
  const allow = [...methods, ...(methods.includes('GET') ? ['HEAD'] : []), 'OPTIONS'].join(', ');
  return (request, response) => {
    exchangeOf(response).route = path;
    if (request.method === 'OPTIONS') return sendEmpty(response, 204, { Allow: allow });
    const message = `This resource knows ${allow}.`;
    return sendError(response, new ApiError({ code: 'METHOD_NOT_ALLOWED', message }, { Allow: allow }));
  };
};

const unknownPath: RequestHandler = (_request, response) =>
  sendError(response, new ApiError({ code: 'NOT_FOUND', message: 'No such resource. See /openapi.json.' }));

/** Express itself throws only for a path that it cannot decode; the rest comes from `begin`. */
const whatExpressThrows =
  ({ log }: AppOptions): ErrorRequestHandler =>
  (error: unknown, _request, response, _next) => {
    const { requestId } = exchangeOf(response);
    const status: unknown =
      typeof error === 'object' && error !== null && 'status' in error ? error.status : 500;
    if (!(error instanceof ApiError) && status === 400) {
      const message = 'The path has broken percent-encoding. Encode it as UTF-8.';
      return sendError(response, new ApiError({ code: 'BAD_REQUEST', message }));
    }
    const refusal = apiErrorOf(error);
    if (refusal.status >= 500) log.error({ err: error, requestId }, 'request failed');
    return sendError(response, refusal);
  };
