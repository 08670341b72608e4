import { ReadableStream } from 'node:stream/web';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { Agent, errors, request, type Dispatcher } from 'undici';
import { guardedLookup, type ResolveName } from './guarded-lookup.ts';
import { OutboundError } from './outbound-error.ts';
import { timeoutSignal } from '../async/timeout.ts';
import { urlProblem, type OutboundPolicy } from './outbound-url.ts';

export interface OutboundFetchOptions extends OutboundPolicy {
  /** Of one request, from its beginning to the last byte of its answer. */
  readonly timeoutMs: number;
  /** Of one answer's body. */
  readonly bytesMax: number;
  /** Default: the system's. */
  readonly resolve?: ResolveName;
}

/** `fetch` as far as clients of other services need it: a body is text. */
export type OutboundFetch = (url: string | URL, init?: RequestInit) => Promise<Response>;

/**
 * A `fetch` for addresses that users give us: public hosts over https only, judged by their text and again by where
 * the connection goes; never a redirect, which would take our credentials along; bounded in time and bytes. Every
 * request has its own connection, which ends with its answer (`createOutboundLines` shares connections).
 * @throws OutboundError; the caller's own reason when it is the caller who ends it
 */
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

/** A `fetch` for requests that belong together. */
export interface OutboundLine {
  readonly fetch: OutboundFetch;
  /** Ends its connections and the requests on them. */
  close(): void;
}

/** @returns another line on each call */
export type OpenOutboundLine = () => OutboundLine;

/**
 * Lines whose requests share connections, and only those of one line with each other. Otherwise as
 * `createOutboundFetch`: each address is judged by its text, each connection by where it goes. A request whose connection
 * its server closes before it answers is sent once more, on another: what is asked over a line must be safe to ask twice.
 */
export const createOutboundLines =
  (options: OutboundFetchOptions): OpenOutboundLine =>
  () => {
    const agent = agentOf(options, 1);
    return {
      fetch: async (url, init) => {
        const send = (): Promise<Dispatcher.ResponseData> => ask(url, init, options, agent);
        // Undici gives a connection free one turn after its answer has ended, and would open another one until then.
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

/** @param pipelining 0: a connection serves one request; 1: it serves one after the other */
const agentOf = (options: OutboundFetchOptions, pipelining: 0 | 1): Agent =>
  new Agent({
    pipelining,
    connect: { lookup: guardedLookup(options, options.resolve), timeout: options.timeoutMs },
    maxResponseSize: options.bytesMax,
    // One bound holds for all of a request: its signal.
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
  // Undici connects all the same, if only for a moment.
  init.signal?.throwIfAborted();
  // The dot that may end a name is in no certificate.
  url.hostname = url.hostname.replace(/\.$/, '');
  const body = init.body ?? undefined;
  if (body !== undefined && typeof body !== 'string') throw new TypeError('the body must be text');
  const headers = new Headers(init.headers);
  // What is packed may become anything when it is unpacked.
  headers.set('accept-encoding', 'identity');
  const timeout = timeoutSignal(options.timeoutMs);
  return request(url, {
    dispatcher,
    method: init.method ?? 'GET',
    headers: Object.fromEntries(headers),
    ...(body !== undefined && { body }),
    signal: init.signal ? AbortSignal.any([timeout, init.signal]) : timeout,
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

/** The body; what goes wrong with it is an `OutboundError`. */
const piecesOf = async function* (body: Dispatcher.ResponseData['body']): AsyncGenerator<Uint8Array> {
  try {
    yield* body as AsyncIterable<Uint8Array>;
  } catch (error) {
    throw failureOf(error);
  }
};

/** Its server has closed the connection, perhaps before it saw the request. */
const isClosed = (error: unknown): boolean =>
  error instanceof Error &&
  'code' in error &&
  ['UND_ERR_SOCKET', 'ECONNRESET', 'EPIPE'].includes(String(error.code)) &&
  !isBad(error);

/** Too long, or a change of protocol that was not asked for: undici knows the latter by its message alone. */
const isBad = (error: unknown): boolean =>
  error instanceof errors.ResponseExceededMaxSizeError ||
  (error instanceof errors.SocketError && error.message === 'bad upgrade');

const failureOf = (error: unknown, own?: AbortSignal | null): unknown => {
  if (own?.aborted === true) return own.reason;
  if (error instanceof OutboundError) return error;
  return new OutboundError(isBad(error) ? 'bad-answer' : 'unreachable', { cause: error });
};
