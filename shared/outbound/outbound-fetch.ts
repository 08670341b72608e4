import { ReadableStream } from 'node:stream/web';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { Agent, errors, request, type Dispatcher } from 'undici';
import { tracedCall } from '../tracing/traced-call.ts';
import { guardedLookup } from './guarded-lookup.ts';
import type { ResolveName } from './resolve-name.ts';
import { OutboundError } from './outbound-error.ts';
import { timeoutSignal } from '../async/timeout.ts';
import { urlProblem, type OutboundPolicy } from './outbound-url.ts';

export interface OutboundFetchOptions extends OutboundPolicy {
  readonly timeoutMs: number;
  readonly bytesMax: number;
  readonly resolve?: ResolveName;
}

export type OutboundFetch = (url: string | URL, init?: RequestInit) => Promise<Response>;

/** No redirects, which could receive our credentials. @throws OutboundError; the reason of `init.signal` */
export const createOutboundFetch =
  (options: OutboundFetchOptions): OutboundFetch =>
  async (url, init) => {
    const agent = agentOf(options, 0);
    const end = (): void => void agent.destroy();
    try {
      const answer = await ask(url, init, options, agent);
      answer.body.once('close', end);
      return respond(answer, options.bytesMax);
    } catch (error) {
      end();
      throw failureOf(error, init?.signal);
    }
  };

export interface OutboundLine {
  readonly fetch: OutboundFetch;
  close(): void;
}

export type OpenOutboundLine = () => OutboundLine;

/** Requests share connections and must be safe to repeat: one is sent again if the server hangs up. */
export const createOutboundLines =
  (options: OutboundFetchOptions): OpenOutboundLine =>
  () => {
    const agent = agentOf(options, 1);
    return {
      fetch: async (url, init) => {
        const send = (): Promise<Dispatcher.ResponseData> => ask(url, init, options, agent);
        // Undici frees a connection one event-loop iteration after its answer; else it would open another.
        await nextTurn();
        try {
          const answer = await send().catch((error: unknown) => {
            if (isClosed(error)) return send();
            throw error;
          });
          return respond(answer, options.bytesMax);
        } catch (error) {
          throw failureOf(error, init?.signal);
        }
      },
      close: () => void agent.destroy(),
    };
  };

const agentOf = (options: OutboundFetchOptions, pipelining: 0 | 1): Agent =>
  new Agent({
    pipelining,
    connect: { lookup: guardedLookup(options, options.resolve), timeout: options.timeoutMs },
    maxResponseSize: options.bytesMax,
    // The request's signal is its only timeout.
    headersTimeout: 0,
    bodyTimeout: 0,
  });

const ask = async (
  target: string | URL,
  init: RequestInit = {},
  options: OutboundFetchOptions,
  dispatcher: Agent,
): Promise<Dispatcher.ResponseData> => {
  const url = new URL(target);
  if (urlProblem(url.href, options) !== undefined) throw new OutboundError('refused');
  // Undici would connect for a moment even if the signal is aborted already.
  init.signal?.throwIfAborted();
  // Certificates do not contain the trailing dot of a name.
  url.hostname = url.hostname.replace(/\.$/, '');
  const body = init.body ?? undefined;
  if (body !== undefined && typeof body !== 'string') throw new TypeError('the body must be text');
  const headers = new Headers(init.headers);
  // No compression: `bytesMax` would not bound the decompressed size.
  headers.set('accept-encoding', 'identity');
  const timeout = timeoutSignal(options.timeoutMs);
  const { method = 'GET', signal } = init;
  return tracedCall(method, url.hostname, async (traceparent, span) => {
    if (traceparent !== undefined) headers.set('traceparent', traceparent);
    const answer = await request(url, {
      dispatcher,
      method,
      headers: Object.fromEntries(headers),
      ...(body !== undefined && { body }),
      signal: signal ? AbortSignal.any([timeout, signal]) : timeout,
    });
    span?.setAttribute('http.response.status_code', answer.statusCode);
    return answer;
  });
};

const respond = (answer: Dispatcher.ResponseData, bytesMax: number): Response => {
  const { statusCode: status, body } = answer;
  const headers = new Headers();
  for (const [name, values] of Object.entries(answer.headers)) {
    for (const value of [values ?? []].flat()) headers.append(name, value);
  }
  const encoding = headers.get('content-encoding') ?? 'identity';
  const declared = Number(headers.get('content-length') ?? 0);
  const isAnswer = (status >= 200 && status < 300) || (status >= 400 && status < 600);
  const isRead = isAnswer && encoding === 'identity' && declared <= bytesMax;
  const hasBody = status !== 204 && status !== 205;
  if (!isRead || !hasBody) body.on('error', () => undefined).destroy();
  if (!isRead) throw new OutboundError('bad-answer');
  return new Response(hasBody ? ReadableStream.from(piecesOf(body)) : null, {
    status,
    headers,
  });
};

const piecesOf = async function* (body: Dispatcher.ResponseData['body']): AsyncGenerator<Uint8Array> {
  try {
    yield* body as AsyncIterable<Uint8Array>;
  } catch (error) {
    throw failureOf(error);
  }
};

const isClosed = (error: unknown): boolean =>
  error instanceof Error &&
  'code' in error &&
  ['UND_ERR_SOCKET', 'ECONNRESET', 'EPIPE'].includes(String(error.code)) &&
  !isBad(error);

/** Undici identifies an unexpected upgrade only by its message. */
const isBad = (error: unknown): boolean =>
  error instanceof errors.ResponseExceededMaxSizeError ||
  (error instanceof errors.SocketError && error.message === 'bad upgrade');

const failureOf = (error: unknown, own?: AbortSignal | null): unknown => {
  if (own?.aborted === true) return own.reason;
  if (error instanceof OutboundError) return error;
  return new OutboundError(isBad(error) ? 'bad-answer' : 'unreachable', { cause: error });
};
