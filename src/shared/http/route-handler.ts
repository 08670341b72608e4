import type { Request, Response } from 'express';
import { failpoint } from '../failpoints.ts';
import { randomId } from '../ids.ts';
import { fingerprintOf } from '../idempotency/fingerprint.ts';
import type { ExecuteOnce, KeyedCommand } from '../idempotency/execute-once.ts';
import type { StoredAnswer } from '../idempotency/claim.ts';
import type { Logger } from '../log.ts';
import { apiErrorOf } from './api-error-of.ts';
import type { Authenticate } from './authenticate.ts';
import { readJsonBody } from './body.ts';
import { createDeadline } from './deadline.ts';
import { errorEnvelope, successEnvelope } from './envelope.ts';
import { notFound, type ApiError } from './errors.ts';
import { exchangeOf } from './exchange.ts';
import { idempotencyKeyOf } from './idempotency-key.ts';
import { parameterNames } from './openapi.ts';
import { anonymous, type Principal } from './principal.ts';
import { parseQueryString } from './query-string.ts';
import type { Reply, RequestContext, Route } from './route.ts';
import { sendEmpty, sendError, sendText } from './send.ts';
import { validate } from './validate.ts';

export interface RouteServices {
  readonly authenticate: Authenticate;
  /** Runs keyed writes at most once; without it keys are checked for their form only. */
  readonly executeOnce?: ExecuteOnce;
  readonly log: Logger;
  /** Sees every answer of a route before it is sent, refusals too. For tests. */
  readonly onAnswer?: (route: Route, status: number, text: string) => void;
}

/** `contentType` is there when the body is not JSON: never the case for a write. */
type Answer = StoredAnswer & { readonly contentType?: string };

interface Input {
  readonly principal: Principal;
  readonly idempotencyKey: string | undefined;
  readonly rawParams: Readonly<Record<string, string>>;
  readonly rawBody: unknown;
  readonly params: unknown;
  readonly query: unknown;
  readonly body: unknown;
}

/**
 * The Express handler of a route. Order of checks: credential, key format, schema, key, handler
 * (decisions.md 1.2, order of checks).
 */
export const routeHandler = (route: Route, services: RouteServices) => {
  const knownParameters = new Set(parameterNames(route.query));
  const isWrite = route.method !== 'get';

  return async (request: Request, response: Response): Promise<void> => {
    const exchange = exchangeOf(response);
    exchange.route = route.path;
    const { log } = services;
    const { requestId } = exchange;
    try {
      const deadline = createDeadline((error) =>
        log.warn({ err: error, requestId, route: route.path }, 'failed after it was answered 503'),
      );
      const principal =
        route.access === 'account' ? await deadline.wait(services.authenticate(request)) : anonymous;
      exchange.customerId = principal.customerId;
      const input = await readInput(route, request, response, principal, isWrite, knownParameters);
      const { status, body, replayed, contentType } = await deadline.wait(
        answer(route, input, { requestId, isAbandoned: () => deadline.isOver }, services),
      );
      if (isWrite) failpoint('before-reply');
      services.onAnswer?.(route, status, body);
      const headers = replayed ? { 'Idempotent-Replayed': 'true' } : undefined;
      if (body === '') sendEmpty(response, status, headers);
      else sendText(response, status, body, headers, contentType);
    } catch (error) {
      const refusal = apiErrorOf(error);
      logFailure(log, error, refusal, requestId, route.path);
      services.onAnswer?.(route, refusal.status, errorEnvelope(refusal.body));
      sendError(response, refusal);
    }
  };
};

/** A store that is away is for operators to know of; anything else unexpected is a bug. */
const logFailure = (
  log: Logger,
  error: unknown,
  { status }: ApiError,
  requestId: string,
  route: string,
): void => {
  if (status === 503) log.warn({ err: error, requestId, route }, 'not available');
  else if (status >= 500) log.error({ err: error, requestId, route }, 'request failed');
};

const readInput = async (
  route: Route,
  request: Request,
  response: Response,
  principal: Principal,
  isWrite: boolean,
  knownParameters: ReadonlySet<string>,
): Promise<Input> => {
  const idempotencyKey = isWrite ? idempotencyKeyOf(request) : undefined;
  const rawParams = request.params as Readonly<Record<string, string>>;
  const params = route.params === undefined ? undefined : validate(route.params, rawParams);
  for (const name in rawParams) {
    // No id has one in it, and a query with one in it fails.
    if (rawParams[name]?.includes('\0') === true) throw notFound('resource');
  }
  const search = request.url.indexOf('?');
  const query =
    route.query === undefined
      ? undefined
      : validate(
          route.query,
          parseQueryString(search < 0 ? '' : request.url.slice(search + 1), knownParameters),
        );
  const withoutBody = { principal, idempotencyKey, rawParams, params, query };
  if (route.body === undefined) return { ...withoutBody, rawBody: undefined, body: undefined };
  const rawBody = await readJsonBody(request, response, route.bodyBytesMax);
  // An absent body is an empty one: what is missing from it is named member by member.
  const body = validate(route.body, rawBody === undefined ? {} : rawBody);
  return { ...withoutBody, rawBody, body };
};

const answer = async (
  route: Route,
  input: Input,
  exchange: Pick<RequestContext, 'requestId' | 'isAbandoned'>,
  { executeOnce }: RouteServices,
): Promise<Answer & { readonly replayed: boolean }> => {
  const { principal, idempotencyKey, params, query, body } = input;
  const run = async (command: KeyedCommand): Promise<Answer> => {
    try {
      const request = { ...exchange, ...command, principal };
      return answerOf(await route.handle({ params, query, body, request }), route);
    } catch (error) {
      throw apiErrorOf(error);
    }
  };
  const reserved = await reserve(route);
  failpoint('after-reserve');
  if (idempotencyKey === undefined || executeOnce === undefined) {
    return {
      ...(await run({ commandId: randomId(), reserved, hasRunBefore: neverRunBefore })),
      replayed: false,
    };
  }
  const fingerprint = fingerprintOf({
    method: route.method,
    path: route.path,
    pathValues: input.rawParams,
    body: input.rawBody,
  });
  return executeOnce(
    { scope: String(principal.customerId), key: idempotencyKey, fingerprint, reserved },
    run,
  );
};

/** Of a command whose id was made this moment. */
const neverRunBefore = async (): Promise<boolean> => false;

const reserve = async (route: Route): Promise<Readonly<Record<string, number>>> => {
  const reserved: Record<string, number> = {};
  for (const [name, allocate] of Object.entries(route.reserves ?? {})) reserved[name] = await allocate();
  return reserved;
};

const answerOf = (reply: Reply, { responses }: Route): Answer => {
  if ('text' in reply) return { status: reply.status, body: reply.text, contentType: reply.contentType };
  if (!('data' in reply || 'dataJson' in reply)) return { status: reply.status, body: '' };
  const text = 'dataJson' in reply ? reply.dataJson : JSON.stringify(reply.data);
  const enveloped = responses[reply.status]?.enveloped ?? true;
  return { status: reply.status, body: enveloped ? successEnvelope(text, reply.pagination) : text };
};
