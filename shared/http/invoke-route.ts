import type { Logger } from 'pino';
import { apiErrorOf } from './api-error-of.ts';
import { refuseLargeBody } from './body.ts';
import type { Client } from './client.ts';
import { createDeadline } from './deadline.ts';
import { KnownHolderError, notFound } from './errors.ts';
import { checkIdempotencyKey } from './idempotency-key.ts';
import { parseJsonBody } from './json-ingress.ts';
import { parameterNames } from './openapi.ts';
import type { Principal } from './principal.ts';
import { readQuery } from './read-input.ts';
import { refuseScope } from './refuse-forbidden.ts';
import type { Pagination, Route } from './route.ts';
import { refuseParameters, type RouteServices } from './route-handler.ts';
import { runRoute } from './run-route.ts';
import { validate } from './validate.ts';

/** On whose behalf a route is called by other code than HTTP. */
export interface Caller {
  readonly principal: Principal;
  readonly client: Client;
  readonly requestId: string;
  /** Aborted when the caller no longer waits for the answer. */
  readonly signal: AbortSignal;
}

export interface RouteInput {
  readonly params?: Readonly<Record<string, string>>;
  /** Undefined members count as absent. */
  readonly query?: Readonly<Record<string, string | number | boolean | undefined>>;
  readonly body?: unknown;
  readonly idempotencyKey?: string | undefined;
}

export interface InvokedAnswer {
  readonly status: number;
  readonly data: unknown;
  readonly pagination?: Pagination;
  /** Headers of the route's own, e.g. `Confirmation-Uid`. */
  readonly headers: Readonly<Record<string, string | readonly string[]>>;
  readonly isReplay: boolean;
}

/** @throws ApiError as the route would answer over HTTP */
export type InvokeRoute = (caller: Caller, operationId: string, input?: RouteInput) => Promise<InvokedAnswer>;

type InvokingServices = Pick<RouteServices, 'executeOnce' | 'keyedDigest' | 'onRefused' | 'site'> & {
  readonly log: Logger;
};

/**
 * Calls routes as HTTP does: same scopes, validation, idempotency, deadline and record of refusals. The request that
 * carries the call has been authenticated and counted.
 */
export const createInvokeRoute = (routes: readonly Route[], services: InvokingServices): InvokeRoute => {
  const byId = new Map(routes.map((route) => [route.operationId, route]));
  return async (caller, operationId, input = {}) => {
    const route = byId.get(operationId);
    if (route === undefined) throw new Error(`no route ${operationId}`);
    const { principal, requestId, signal } = caller;
    const { params: rawParams = {} } = input;
    const deadline = createDeadline((error) =>
      services.log.warn({ err: error, requestId, route: route.path }, 'failed after it was answered 503'),
    );
    try {
      refuseScope(route, principal, services.site);
      const exchange = {
        requestId,
        client: caller.client,
        isAbandoned: () => deadline.isOver,
        isClientGone: () => deadline.isOver || signal.aborted,
      };
      const answer = await deadline.wait(
        runRoute(route, { ...readInput(route, input), principal, rawParams }, exchange, services),
      );
      const { data, meta } = parsed(answer.body);
      return {
        status: answer.status,
        data,
        headers: answer.headers ?? {},
        isReplay: answer.replayed === true,
        ...(meta?.pagination && { pagination: meta.pagination }),
      };
    } catch (error) {
      const refusal = apiErrorOf(error);
      const ofHolder = error instanceof KnownHolderError ? error : undefined;
      const holder = ofHolder?.holder ?? principal;
      services.onRefused?.({
        route,
        holder,
        params: { ...rawParams, ...ofHolder?.names },
        requestId,
        refusal,
      });
      throw refusal;
    } finally {
      deadline.end();
    }
  };
};

const readInput = (route: Route, { params = {}, query = {}, body, idempotencyKey }: RouteInput) => {
  for (const value of Object.values(params)) {
    // No id contains U+0000 or half a surrogate pair, and Postgres rejects them in a query.
    if (value.includes('\0') || !value.isWellFormed()) throw notFound('resource');
  }
  const search = searchOf(query);
  refuseParameters(route, search);
  const bytes = body === undefined ? undefined : Buffer.from(JSON.stringify(body));
  if (bytes !== undefined) refuseLargeBody(bytes.length, route);
  const rawBody = bytes === undefined ? undefined : parseJsonBody(bytes, route.itemsMember);
  return {
    idempotencyKey: idempotencyKey === undefined ? undefined : checkIdempotencyKey([idempotencyKey]),
    params: route.params === undefined ? undefined : validate(route.params, params),
    query:
      route.query === undefined
        ? undefined
        : readQuery(route.query, new Set(parameterNames(route.query)), search),
    headers: route.headers === undefined ? undefined : validate(route.headers, {}),
    rawBody,
    body: route.body === undefined ? undefined : validate(route.body, rawBody ?? {}),
    bodyBytes: bytes?.length ?? 0,
    received: undefined,
  };
};

const searchOf = (query: NonNullable<RouteInput['query']>): string => {
  const search = new URLSearchParams();
  for (const [name, value] of Object.entries(query)) {
    if (value !== undefined) search.set(name, String(value));
  }
  return search.toString();
};

interface Envelope {
  readonly data?: unknown;
  readonly meta?: { readonly pagination?: Pagination };
}

const parsed = (body: string): Envelope => (body === '' ? {} : (JSON.parse(body) as Envelope));
