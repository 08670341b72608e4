import type { IncomingMessage, OutgoingHttpHeaders, ServerResponse } from 'node:http';
import type { RequestHandler } from 'express';
import type { z } from 'zod';
import { failpoint } from '../async/failpoints.ts';
import type { Logger } from 'pino';
import { isClientGoneError } from './api-error-of.ts';
import { readJsonBytes } from './body.ts';
import type { Site } from './challenge.ts';
import { RequestClient } from './client.ts';
import type { BrowserOrigins } from './cors.ts';
import { createDeadline } from './deadline.ts';
import { ApiError, notFound } from './errors.ts';
import { exchangeOf } from './http-exchange.ts';
import type { Gate } from './gate.ts';
import { idempotencyKeyOf } from './idempotency-key.ts';
import { incomingBytes } from './incoming-bytes.ts';
import { parseJsonBody } from './json-ingress.ts';
import { parameterNames } from './openapi.ts';
import { sendBytes } from './send-bytes.ts';
import type { Holder, Principal } from './principal.ts';
import { parseQueryString } from './query-string.ts';
import { readHeaders, readQuery, searchOf } from './read-input.ts';
import { refuseForbidden } from './refuse-forbidden.ts';
import type { Route } from './route.ts';
import { runRoute, type RouteCall, type RunServices } from './run-route.ts';
import { sendEmpty, sendText } from './send.ts';
import { validate } from './validate.ts';

export interface RouteServices extends RunServices {
  readonly gate: Gate;
  readonly site: Site;
  /** Default: no page of another origin may call the API. */
  readonly origins?: BrowserOrigins;
  readonly log: Logger;
  /** For requests with a known credential. Must not throw; is not awaited. */
  readonly onRefused?: (request: RefusedRequest) => void;
  readonly onAnswer?: (route: Route, status: number, text: string, headers: OutgoingHttpHeaders) => void;
}

export interface RefusedRequest {
  readonly route: Route;
  readonly holder: Holder;
  readonly params: Readonly<Record<string, string>>;
  readonly requestId: string;
  readonly refusal: ApiError;
}

export const routeHandler = (route: Route, services: RouteServices): RequestHandler => {
  const known: KnownNames = {
    parameters: new Set(parameterNames(route.query)),
    headers: parameterNames(route.headers),
  };
  const isWrite = route.method !== 'get';

  return async (request, response) => {
    const exchange = exchangeOf(response);
    const { requestId } = exchange;
    const params = request.params as Readonly<Record<string, string>>;
    exchange.pattern = route.path;
    exchange.handling = { route, params };
    const deadline = createDeadline((error) => {
      if (error instanceof ApiError && isClientGoneError(error)) return;
      services.log.warn({ err: error, requestId, route: route.path }, 'failed after it was answered 503');
    });
    const isAbandoned = (): boolean => deadline.isOver;
    const isClientGone = (): boolean => deadline.isOver || response.destroyed;
    try {
      const admitted = services.gate.admit(route, request, response, services.origins);
      const principal = admitted instanceof Promise ? await deadline.wait(admitted) : admitted;
      exchange.principal = principal;
      refuseForbidden(route, request, principal, services.site);
      const client = new RequestClient(request, services.gate.clientAddress);
      const input = await readInput(route, services.gate, request, response, principal, params, known);
      const {
        status,
        body,
        replayed,
        contentType,
        bytes,
        headers: own,
      } = await deadline.wait(
        runRoute(route, input, { requestId, client, isAbandoned, isClientGone }, services),
      );
      if (isWrite) failpoint('before-reply');
      services.onAnswer?.(route, status, body, response.getHeaders());
      const headers = replayed === true ? { ...own, 'Idempotent-Replayed': 'true' } : own;
      if (bytes !== undefined) await sendBytes(response, status, bytes, headers);
      else if (body === '') sendEmpty(response, status, headers);
      else sendText(response, status, body, headers, contentType);
    } finally {
      deadline.end();
    }
  };
};

interface KnownNames {
  readonly parameters: ReadonlySet<string>;
  readonly headers: readonly string[];
}

const readInput = async (
  route: Route,
  gate: Gate,
  request: IncomingMessage,
  response: ServerResponse,
  principal: Principal,
  rawParams: Readonly<Record<string, string>>,
  known: KnownNames,
): Promise<RouteCall> => {
  const idempotencyKey = route.method === 'get' ? undefined : idempotencyKeyOf(request);
  const params = route.params === undefined ? undefined : validate(route.params, rawParams);
  for (const name in rawParams) {
    // No id contains U+0000, and Postgres rejects it in a query.
    if (rawParams[name]?.includes('\0') === true) throw notFound('resource');
  }
  const search = searchOf(request);
  refuseParameters(route, search);
  const query = route.query === undefined ? undefined : readQuery(route.query, known.parameters, search);
  const headers =
    route.headers === undefined ? undefined : readHeaders(route.headers, known.headers, request);
  const received =
    route.receive === undefined
      ? undefined
      : await route.receive({
          params,
          query,
          headers,
          isKeyed: idempotencyKey !== undefined,
          bytes: incomingBytes(request, response),
          clientAddress: gate.clientAddress(request),
        });
  const read =
    route.body === undefined || route.receive !== undefined
      ? noBody
      : await readBody(route, route.body, request, response);
  // Member by member, here and below: spreading objects takes longer than reading a small request.
  return {
    principal,
    idempotencyKey,
    rawParams,
    params,
    query,
    headers,
    received,
    rawBody: read.rawBody,
    body: read.body,
    bodyBytes: read.bodyBytes,
  };
};

type ReadBody = Pick<RouteCall, 'rawBody' | 'body' | 'bodyBytes'>;

const noBody: ReadBody = { rawBody: undefined, body: undefined, bodyBytes: 0 };

const readBody = async (
  route: Route,
  schema: z.ZodType,
  request: IncomingMessage,
  response: ServerResponse,
): Promise<ReadBody> => {
  const bytes = await readJsonBytes(request, response, route);
  // An absent body counts as `{}`, so that each missing member is reported.
  const rawBody = bytes === undefined ? undefined : parseJsonBody(bytes, route.itemsMember);
  const body = validate(schema, rawBody === undefined ? {} : rawBody);
  return { rawBody, body, bodyBytes: bytes?.length ?? 0 };
};

export const refuseParameters = ({ refusedQuery }: Route, search: string): void => {
  if (refusedQuery === undefined || search === '') return;
  const [field] = Object.keys(parseQueryString(search, new Set(Object.keys(refusedQuery))));
  if (field === undefined) return;
  throw new ApiError({
    code: 'VALIDATION_ERROR',
    message: `${field}: ${refusedQuery[field]} Leave it out.`,
    field,
  });
};
