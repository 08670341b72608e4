import { randomUUID } from 'node:crypto';
import type { IncomingMessage, OutgoingHttpHeaders, ServerResponse } from 'node:http';
import type { RequestHandler } from 'express';
import type { z } from 'zod';
import { failpoint } from '../async/failpoints.ts';
import { fingerprintOf } from '../idempotency/request-fingerprint.ts';
import type { ExecuteOnce, KeyedCommand } from './execute-once.ts';
import type { StoredAnswer } from '../idempotency/claim.ts';
import type { Logger } from 'pino';
import { apiErrorOf, isClientGoneError } from './api-error-of.ts';
import { readJsonBytes } from './body.ts';
import type { Site } from './challenge.ts';
import { RequestClient } from './client.ts';
import type { BrowserOrigins } from './cors.ts';
import { createDeadline } from './deadline.ts';
import { successEnvelope } from './envelope.ts';
import { ApiError, notFound } from './errors.ts';
import { exchangeOf } from './http-exchange.ts';
import type { KeyedDigest } from '../secrets/keyed-digest.ts';
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
import type { Reply, ReplyHeaders, RequestContext, RequestKey, Route, OutgoingBytes } from './route.ts';
import { sendEmpty, sendText } from './send.ts';
import { validate } from './validate.ts';

export interface RouteServices {
  readonly gate: Gate;
  readonly site: Site;
  /** Default: no page of another origin may call the API. */
  readonly origins?: BrowserOrigins;
  /** Without it, only the form of a key is checked. */
  readonly executeOnce?: ExecuteOnce;
  /** See `Route.bodyIsSecret`. */
  readonly keyedDigest?: KeyedDigest;
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

type Answer = StoredAnswer & {
  readonly contentType?: string;
  readonly headers?: ReplyHeaders;
  readonly bytes?: OutgoingBytes;
  readonly replayed?: boolean;
};

interface Input {
  readonly principal: Principal;
  readonly idempotencyKey: string | undefined;
  readonly rawParams: Readonly<Record<string, string>>;
  readonly rawBody: unknown;
  readonly params: unknown;
  readonly query: unknown;
  readonly headers: unknown;
  readonly body: unknown;
  readonly bodyBytes: number;
  readonly received: unknown;
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
        answer(route, input, { requestId, client, isAbandoned, isClientGone }, services),
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
): Promise<Input> => {
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

type ReadBody = Pick<Input, 'rawBody' | 'body' | 'bodyBytes'>;

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

const answer = async (
  route: Route,
  input: Input,
  exchange: Pick<RequestContext, 'requestId' | 'client' | 'isAbandoned' | 'isClientGone'>,
  { executeOnce, keyedDigest }: RouteServices,
): Promise<Answer> => {
  const { principal, idempotencyKey, params, query, headers, body, bodyBytes, received } = input;
  let isHandled = false;
  const eventsAreOf = { 'this-run': false, 'earlier-run': false };
  const run = async (command: KeyedCommand): Promise<Answer> => {
    isHandled = true;
    try {
      const isRepeatable = idempotencyKey !== undefined;
      const request: RequestContext = {
        requestId: exchange.requestId,
        isAbandoned: exchange.isAbandoned,
        isClientGone: exchange.isClientGone,
        commandId: command.commandId,
        reserved: command.reserved,
        hasRunBefore: command.hasRunBefore,
        onEvents: (whose) => {
          eventsAreOf[whose] = true;
        },
        principal,
        client: exchange.client,
        isRepeatable,
        bodyBytes,
      };
      return answerOf(await route.handle({ params, query, headers, body, received, request }), route);
    } catch (error) {
      throw apiErrorOf(error);
    }
  };
  const reserved = route.reserves === undefined ? nothing : await reserve(route);
  failpoint('after-reserve');
  if (idempotencyKey === undefined || executeOnce === undefined) {
    return run({ commandId: randomUUID(), reserved, hasRunBefore: neverRunBefore });
  }
  const { scope, fingerprint } = await keyOf(route, input, keyedDigest);
  const keepsAnswer = route.answerIsSecret !== true;
  try {
    const done = await executeOnce({ scope, key: idempotencyKey, fingerprint, reserved, keepsAnswer }, run);
    const isDerived = eventsAreOf['earlier-run'] && !eventsAreOf['this-run'];
    return isDerived ? { ...done, replayed: true } : done;
  } finally {
    // After a failure, the remains are cleaned up like those of a crash.
    if (!isHandled) await route.discard?.(received).catch(() => undefined);
  }
};

const keyOf = async (
  route: Route,
  { principal, params, received, rawParams, rawBody }: Input,
  keyedDigest: KeyedDigest | undefined,
): Promise<RequestKey> => {
  if (route.keyOf !== undefined) return route.keyOf({ params, received });
  const { method, path } = route;
  const plain = fingerprintOf({ method, path, pathValues: rawParams, body: rawBody });
  const fingerprint = route.bodyIsSecret === true ? await withKey(plain, keyedDigest) : plain;
  return { scope: String(principal.customerId), fingerprint };
};

const withKey = (fingerprint: Buffer, keyedDigest: KeyedDigest | undefined): Promise<Buffer> => {
  if (keyedDigest === undefined) throw new Error('a body that holds a secret needs a keyed digest');
  return keyedDigest(fingerprint);
};

const neverRunBefore = async (): Promise<boolean> => false;

const nothing: Readonly<Record<string, number>> = {};

const reserve = async ({ reserves }: Route): Promise<Readonly<Record<string, number>>> => {
  const reserved: Record<string, number> = {};
  for (const [name, allocate] of Object.entries(reserves ?? {})) reserved[name] = await allocate();
  return reserved;
};

const answerOf = (reply: Reply, { responses }: Route): Answer => {
  const { status } = reply;
  const headers = 'headers' in reply ? reply.headers : undefined;
  const own =
    'hadNoEffect' in reply && reply.hadNoEffect
      ? { ...(headers && { headers }), hadNoEffect: true }
      : headers && { headers, isKept: false };
  if ('text' in reply) return { status, body: reply.text, contentType: reply.contentType, ...own };
  if ('bytes' in reply) return { status, body: '', bytes: reply.bytes, ...own };
  if (!('data' in reply || 'dataJson' in reply)) return { status, body: '', ...own };
  const text = 'dataJson' in reply ? reply.dataJson : JSON.stringify(reply.data);
  const enveloped = responses[status]?.enveloped ?? true;
  const body = enveloped ? successEnvelope(text, reply.pagination) : text;
  return own === undefined ? { status, body } : { status, body, ...own };
};
