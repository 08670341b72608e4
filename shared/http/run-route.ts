import { randomUUID } from 'node:crypto';
import { failpoint } from '../async/failpoints.ts';
import type { StoredAnswer } from '../idempotency/claim.ts';
import { fingerprintOf } from '../idempotency/request-fingerprint.ts';
import type { KeyedDigest } from '../secrets/keyed-digest.ts';
import { apiErrorOf } from './api-error-of.ts';
import { successEnvelope } from './envelope.ts';
import type { ExecuteOnce, KeyedCommand } from './execute-once.ts';
import type { Principal } from './principal.ts';
import type { OutgoingBytes, Reply, ReplyHeaders, RequestContext, RequestKey, Route } from './route.ts';

export interface RunServices {
  /** Without it, only the form of a key is checked. */
  readonly executeOnce?: ExecuteOnce;
  /** See `Route.bodyIsSecret`. */
  readonly keyedDigest?: KeyedDigest;
}

/** What a route answered, before it is written to a response or into the result of a tool. */
export type RouteAnswer = StoredAnswer & {
  readonly contentType?: string;
  readonly headers?: ReplyHeaders;
  readonly bytes?: OutgoingBytes;
  readonly replayed?: boolean;
};

/** A request to a route: read, and valid. */
export interface RouteCall {
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

/** Runs the handler: once for each idempotency key. @throws ApiError */
export const runRoute = async (
  route: Route,
  input: RouteCall,
  exchange: Pick<RequestContext, 'requestId' | 'client' | 'isAbandoned' | 'isClientGone'>,
  { executeOnce, keyedDigest }: RunServices,
): Promise<RouteAnswer> => {
  const { principal, idempotencyKey, params, query, headers, body, bodyBytes, received } = input;
  let isHandled = false;
  const eventsAreOf = { 'this-run': false, 'earlier-run': false };
  const run = async (command: KeyedCommand): Promise<RouteAnswer> => {
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
  { principal, params, received, rawParams, rawBody }: RouteCall,
  keyedDigest: KeyedDigest | undefined,
): Promise<RequestKey> => {
  if (route.keyOf !== undefined) return route.keyOf({ customerId: principal.customerId, params, received });
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

const answerOf = (reply: Reply, { responses }: Route): RouteAnswer => {
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
