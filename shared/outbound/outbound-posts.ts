import { LRUCache } from 'lru-cache';
import { errors, Pool, type Dispatcher } from 'undici';
import { tracedCall } from '../tracing/traced-call.ts';
import { guardedLookup } from './guarded-lookup.ts';
import type { ResolveName } from './resolve-name.ts';
import { urlProblem, type OutboundPolicy } from './outbound-url.ts';

export interface OutboundPostsOptions extends OutboundPolicy {
  /** From the start of the connection to the status of the answer. */
  readonly timeoutMs: number;
  /** Time for the body of the answer. Its status counts, whether or not the body comes. */
  readonly bodyMs: number;
  /** A longer body is cut, and its connection closed. */
  readonly bytesMax: number;
  /** The beginning of the body that is kept. */
  readonly headBytesMax: number;
  readonly connectionsPerReceiver: number;
  readonly resolve?: ResolveName;
}

export interface OutboundPost {
  /** Receivers share no connections, so that a slow one delays no other on its host. */
  readonly receiver: string;
  readonly url: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: Buffer;
}

export type PostFailure = 'timeout' | 'tls' | 'connect' | 'response' | 'refused-address';

export type PostAnswer =
  | {
      readonly status: number;
      readonly retryAfter: string | undefined;
      /** At most `headBytesMax`. */
      readonly head: Buffer;
    }
  /** Hides the rest of the reason, so that a caller cannot explore our network. */
  | { readonly failure: PostFailure };

export interface OutboundPosts {
  /** Sends exactly `body`. It must be safe to repeat: it is sent again if the server hangs up. Follows no redirect. */
  post(request: OutboundPost, signal: AbortSignal): Promise<PostAnswer>;
  close(): Promise<void>;
}

/** Receivers whose connections may be open. Idle connections close after some seconds. */
const RECEIVERS_MAX = 500;
/** Then names are looked up again. */
const CONNECTION_AGE_MS = 60_000;

interface Target {
  readonly pool: Pool;
  readonly host: string;
  readonly path: string;
}

/** Connections stay open between requests. Undici's `request` would cost a stream and two signals a post. */
export const createOutboundPosts = (options: OutboundPostsOptions): OutboundPosts => {
  const targets = new LRUCache<string, Target>({
    max: RECEIVERS_MAX,
    dispose: ({ pool }) => void pool.close().catch(() => undefined),
  });
  const lookup = guardedLookup(options, options.resolve);
  /** The text of a URL is checked once, the addresses of its name with each connection. */
  const targetOf = (receiver: string, text: string): Target | undefined => {
    const key = `${receiver} ${text}`;
    const known = targets.get(key);
    if (known !== undefined) return known;
    if (urlProblem(text, options) !== undefined) return undefined;
    const url = new URL(text);
    // Certificates do not contain the trailing dot of a name.
    url.hostname = url.hostname.replace(/\.$/, '');
    const pool = new Pool(url.origin, {
      connections: options.connectionsPerReceiver,
      pipelining: 1,
      clientTtl: CONNECTION_AGE_MS,
      connect: { lookup, timeout: options.timeoutMs },
      // One timer a post is its only timeout.
      headersTimeout: 0,
      bodyTimeout: 0,
    });
    const target = { pool, host: url.hostname, path: `${url.pathname}${url.search}` };
    targets.set(key, target);
    return target;
  };
  return {
    post: ({ receiver, url, headers, body }, signal) => {
      const target = targetOf(receiver, url);
      if (target === undefined) return Promise.resolve({ failure: 'refused-address' });
      return tracedCall('POST', target.host, async (traceparent, span) => {
        const request: Dispatcher.DispatchOptions = {
          method: 'POST',
          path: target.path,
          // No compression: `bytesMax` would not bound the decompressed size.
          headers: {
            ...headers,
            'accept-encoding': 'identity',
            ...(traceparent !== undefined && { traceparent }),
          },
          body,
        };
        const endMs = performance.now() + options.timeoutMs;
        const send = (): Promise<Sent> => sendOnce(target.pool, request, options, endMs, signal);
        const first = await send();
        const sent = first === 'hung-up' ? await send() : first;
        if (sent === 'hung-up') return { failure: 'connect' };
        if ('status' in sent) span?.setAttribute('http.response.status_code', sent.status);
        return sent;
      });
    },
    close: async () => {
      await Promise.all([...targets.values()].map(({ pool }) => pool.destroy()));
      targets.clear();
    },
  };
};

type Sent = PostAnswer | 'hung-up';

const sendOnce = (
  pool: Pool,
  request: Dispatcher.DispatchOptions,
  { bodyMs, bytesMax, headBytesMax }: OutboundPostsOptions,
  endMs: number,
  signal: AbortSignal,
): Promise<Sent> =>
  new Promise((resolve) => {
    let controller: Dispatcher.DispatchController | undefined;
    let answer: { readonly status: number; readonly retryAfter: string | undefined } | undefined;
    let isOver = false;
    let bytes = 0;
    const pieces: Buffer[] = [];
    const end = (sent: Sent): void => {
      if (isOver) return;
      isOver = true;
      clearTimeout(timer);
      signal.removeEventListener('abort', onTimeout);
      resolve(answer === undefined ? sent : { ...answer, head: Buffer.concat(pieces) });
    };
    const stop = (sent: Sent): void => {
      end(sent);
      controller?.abort(new Error('stopped'));
    };
    const onTimeout = (): void => stop({ failure: 'timeout' });
    let timer = setTimeout(onTimeout, Math.max(0, endMs - performance.now()));
    signal.addEventListener('abort', onTimeout, { once: true });
    if (signal.aborted) {
      onTimeout();
      return;
    }
    pool.dispatch(request, {
      onRequestStart: (started) => {
        controller = started;
        // It waited for a connection until after the timeout.
        if (isOver) started.abort(new Error('stopped'));
      },
      onRequestUpgrade: (_started, _status, _headers, socket) => {
        socket.destroy();
        end({ failure: 'response' });
      },
      onResponseStart: (_started, status, headers) => {
        if (status < 200) return;
        answer = { status, retryAfter: [headers['retry-after'] ?? []].flat()[0] };
        clearTimeout(timer);
        timer = setTimeout(onTimeout, bodyMs);
      },
      onResponseData: (_started, chunk) => {
        const kept = headBytesMax - bytes;
        if (kept > 0) pieces.push(Buffer.from(chunk.subarray(0, kept)));
        bytes += chunk.length;
        if (bytes > bytesMax) stop({ failure: 'response' });
      },
      onResponseEnd: () => end({ failure: 'response' }),
      onResponseError: (_started, error) => end(failureOf(error)),
    });
  });

const TLS_CODE = /^(?:ERR_TLS_|ERR_SSL_|CERT_|UNABLE_TO_|DEPTH_ZERO_|SELF_SIGNED_|HOSTNAME_|EPROTO$)/;
const TIMEOUT_CODE = /^(?:UND_ERR_CONNECT_TIMEOUT|ETIMEDOUT)$/;
const RESPONSE_CODE = /^UND_ERR_(?:HEADERS_OVERFLOW|RES_)/;

const failureOf = (error: NodeJS.ErrnoException): Sent => {
  const { code = '' } = error;
  if (['UND_ERR_SOCKET', 'ECONNRESET', 'EPIPE'].includes(code)) return 'hung-up';
  if (TLS_CODE.test(code)) return { failure: 'tls' };
  if (TIMEOUT_CODE.test(code)) return { failure: 'timeout' };
  const isResponse = error instanceof errors.HTTPParserError || RESPONSE_CODE.test(code);
  return { failure: isResponse ? 'response' : 'connect' };
};
