import {
  Agent as HttpAgent,
  request as httpRequest,
  type IncomingMessage,
  type RequestOptions,
} from 'node:http';
import { Agent as HttpsAgent, request as httpsRequest } from 'node:https';
import { Readable, Transform } from 'node:stream';
import { guardedLookup, type ResolveName } from './guarded-lookup.ts';
import { OutboundError } from './outbound-error.ts';
import { hostOf, urlProblem, type OutboundPolicy } from './outbound-url.ts';

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
 * request has a connection of its own: one that was made for somebody else is never used again (but
 * `createOutboundLines`).
 *
 * Not the global `fetch`: its connections cannot be told where they may go.
 * @throws OutboundError; the caller's own reason when it is the caller who ends it
 */
export const createOutboundFetch = (options: OutboundFetchOptions): OutboundFetch =>
  fetchOver(options, () => false);

/** A `fetch` for requests that belong together. */
export interface OutboundLine {
  readonly fetch: OutboundFetch;
  /** Ends its connections, whatever is under way on them. */
  close(): void;
}

/** @returns a line of its own on each call */
export type OpenOutboundLine = () => OutboundLine;

/**
 * Lines whose requests share connections, and only those of one line with each other: what belongs to somebody else is on
 * another. Otherwise as `createOutboundFetch`: each address is judged by its text, each connection by where it goes. A
 * request that meets a connection which its server has just closed is sent again, on another: what is asked over a line
 * must be safe to ask twice.
 */
export const createOutboundLines =
  (options: OutboundFetchOptions): OpenOutboundLine =>
  () => {
    const made = new Map<string, HttpAgent>();
    const agentOf = ({ protocol }: URL): HttpAgent => {
      const agent =
        made.get(protocol) ?? new (protocol === 'https:' ? HttpsAgent : HttpAgent)({ keepAlive: true });
      made.set(protocol, agent);
      return agent;
    };
    const over = new AbortController();
    return {
      fetch: fetchOver(options, agentOf, over.signal),
      close: () => {
        // First: to a request on a used connection its end looks like the server's, and it would be sent again.
        over.abort(new OutboundError('unreachable'));
        made.forEach((agent) => agent.destroy());
      },
    };
  };

const fetchOver = (
  options: OutboundFetchOptions,
  /** False: a connection for this request alone. */
  agentOf: (url: URL) => HttpAgent | false,
  /** Ends all that is under way, and whatever comes later. */
  over?: AbortSignal,
): OutboundFetch => {
  const lookup = guardedLookup(options, options.resolve);
  return async (target, init = {}) => {
    const url = new URL(target);
    if (urlProblem(url.href, options) !== undefined) throw new OutboundError('refused');
    const timeout = AbortSignal.timeout(options.timeoutMs);
    const ends = [timeout, over, init.signal].filter((end) => end !== undefined && end !== null);
    const signal = AbortSignal.any(ends);
    const answer = await send(url, init, { lookup, signal, agent: agentOf(url) }).catch((error: unknown) => {
      throw failureOf(error, init.signal);
    });
    return respond(answer, options.bytesMax);
  };
};

/** Its server has closed the connection, perhaps before it saw the request. */
const isClosed = (error: NodeJS.ErrnoException): boolean =>
  error.code === 'ECONNRESET' || error.code === 'EPIPE';

const send = (url: URL, init: RequestInit, how: RequestOptions): Promise<IncomingMessage> =>
  new Promise((resolve, reject) => {
    // Node connects all the same, if only for a moment.
    how.signal?.throwIfAborted();
    const make = url.protocol === 'https:' ? httpsRequest : httpRequest;
    const headers = new Headers(init.headers);
    // What is packed may become anything when it is unpacked.
    headers.set('accept-encoding', 'identity');
    const body = init.body ?? undefined;
    if (body !== undefined && typeof body !== 'string') throw new TypeError('the body must be text');
    if (body !== undefined) headers.set('content-length', String(Buffer.byteLength(body)));
    const request = make(url, {
      ...how,
      host: hostOf(url),
      method: init.method ?? 'GET',
      headers: Object.fromEntries(headers),
    });
    request.once('response', resolve);
    // A change of protocol, which nobody asked for; without a listener its connection would be nobody's.
    request.once('upgrade', (_answer, socket) => {
      socket.destroy();
      reject(new OutboundError('bad-answer'));
    });
    request.once('error', (error) => {
      if (request.reusedSocket && isClosed(error)) resolve(send(url, init, how));
      else reject(error);
    });
    request.end(body);
  });

const respond = (answer: IncomingMessage, bytesMax: number): Response => {
  const status = answer.statusCode ?? 0;
  const encoding = answer.headers['content-encoding'] ?? 'identity';
  const declared = Number(answer.headers['content-length'] ?? 0);
  const isAnswer = (status >= 200 && status < 300) || (status >= 400 && status < 600);
  if (!isAnswer || encoding !== 'identity' || declared > bytesMax) {
    answer.destroy();
    throw new OutboundError('bad-answer');
  }
  const headers = new Headers();
  for (const [name, value] of Object.entries(answer.headersDistinct)) {
    for (const one of value ?? []) headers.append(name, one);
  }
  const hasBody = status !== 204 && status !== 205;
  if (!hasBody) answer.destroy();
  return new Response(hasBody ? bounded(answer, bytesMax) : null, { status, headers });
};

const bounded = (answer: IncomingMessage, bytesMax: number): ReadableStream => {
  let bytes = 0;
  const counted = new Transform({
    transform: (chunk: Buffer, _encoding, done) => {
      bytes += chunk.length;
      if (bytes <= bytesMax) done(null, chunk);
      else done(new OutboundError('bad-answer'));
    },
  });
  answer.on('error', (error) => counted.destroy(new OutboundError('unreachable', { cause: error })));
  counted.on('close', () => answer.destroy());
  answer.pipe(counted);
  return Readable.toWeb(counted) as ReadableStream;
};

const failureOf = (error: unknown, own: AbortSignal | null | undefined): unknown => {
  if (own?.aborted === true) return own.reason;
  return error instanceof OutboundError ? error : new OutboundError('unreachable', { cause: error });
};
