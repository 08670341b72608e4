import { randomUUID } from 'node:crypto';
import { STATUS_CODES, type Server } from 'node:http';
import type { Duplex } from 'node:stream';
import type { Logger } from 'pino';
import { errorEnvelope } from './envelope.ts';
import type { ErrorCode } from './errors.ts';
import { createPaceCheck, type Pace } from './long-bodies.ts';
import type { HeaderLines } from './security-headers.ts';

type Refusal = readonly [status: number, code: ErrorCode, message: string];

const TIMEOUT = 'ERR_HTTP_REQUEST_TIMEOUT';

/** By the code of Node's error. The specification has no code for 408 and 431. */
export const brokenRequests: Readonly<Record<string, Refusal>> = {
  [TIMEOUT]: [408, 'BAD_REQUEST', 'The request did not arrive in time. Send it again.'],
  HPE_HEADER_OVERFLOW: [431, 'BAD_REQUEST', 'The headers are larger than 16 KiB. Send less.'],
  HPE_CHUNK_EXTENSIONS_OVERFLOW: [413, 'PAYLOAD_TOO_LARGE', 'The chunk extensions are too large. Send none.'],
};
const notHttp: Refusal = [400, 'BAD_REQUEST', 'This is not an HTTP request. Correct it and send it again.'];
const noTunnel: Refusal = [405, 'METHOD_NOT_ALLOWED', 'Method not allowed: this server is not a proxy.'];

/** A reset would overtake the answer. */
const LINGER_MS_MAX = 1_000;

/** Node's internal reference to the response that is being written. */
interface ResponseSocket {
  readonly _httpMessage?: { readonly headersSent: boolean } | null;
}

interface BrokenRequestOptions {
  readonly log: Logger;
  readonly headers: HeaderLines;
  readonly pace: Pace;
}

export const answerBrokenRequests = (server: Server, { log, headers, pace }: BrokenRequestOptions): void => {
  const keepsPace = createPaceCheck(pace);
  const headerText = headers.map(([name, value]) => `${name}: ${value}\r\n`).join('');
  const answer = (socket: Duplex & ResponseSocket, [status, code, message]: Refusal): void => {
    const requestId = randomUUID();
    const body = errorEnvelope({ code, message });
    socket.end(
      `HTTP/1.1 ${status} ${STATUS_CODES[status] ?? ''}\r\nX-Request-Id: ${requestId}\r\n${headerText}` +
        `Content-Type: application/json; charset=utf-8\r\nContent-Length: ${Buffer.byteLength(body)}\r\n` +
        `${status === 405 ? 'Allow: \r\n' : ''}Connection: close\r\n\r\n${body}`,
    );
    cutSoon(socket);
    log.info({ requestId, route: 'broken', status }, 'request');
  };

  const refuse = ({ code = '' }: { readonly code?: string }, socket: Duplex & ResponseSocket): void => {
    // Node reports again when a refused client continues to send.
    if (socket.writableEnded) return;
    if (!socket.writable || code === 'ECONNRESET') socket.destroy();
    // A second answer must not be written into the middle of the first.
    else if (socket._httpMessage?.headersSent === true) {
      socket.end();
      cutSoon(socket);
    } else answer(socket, brokenRequests[code] ?? notHttp);
  };

  server.on('clientError', (error: Error & { code?: string }, socket: Duplex & ResponseSocket) => {
    if (error.code === TIMEOUT && keepsPace(socket, () => refuse(error, socket))) return;
    refuse(error, socket);
  });
  server.on('connect', (_request, socket) => {
    socket.on('error', () => socket.destroy());
    answer(socket, noTunnel);
  });
};

const cutSoon = (socket: Duplex): void => {
  socket.resume();
  const timer = setTimeout(() => socket.destroy(), LINGER_MS_MAX);
  socket.once('close', () => clearTimeout(timer));
};
