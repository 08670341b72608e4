import type { IncomingMessage, ServerResponse } from 'node:http';
import { errorEnvelope } from './envelope.ts';
import type { ApiError } from './errors.ts';
import { makeLast } from './last-answer.ts';
import { oauthErrorBody } from './oauth-error.ts';
import type { ErrorForm, ReplyHeaders } from './route.ts';

const JSON_TYPE = 'application/json; charset=utf-8';

export const setHeaders = (response: ServerResponse, headers?: ReplyHeaders): void => {
  for (const name in headers) response.setHeader(name, headers[name] ?? '');
};

export const sendText = (
  response: ServerResponse,
  status: number,
  text: string,
  headers?: ReplyHeaders,
  contentType = JSON_TYPE,
): void => {
  setHeaders(response, headers);
  response.setHeader('Content-Type', contentType);
  response.setHeader('Content-Length', Buffer.byteLength(text));
  response.statusCode = status;
  finish(response, text);
};

export const sendEmpty = (response: ServerResponse, status: number, headers?: ReplyHeaders): void => {
  setHeaders(response, headers);
  response.statusCode = status;
  finish(response, '');
};

export const sendError = (response: ServerResponse, error: ApiError, form: ErrorForm = 'envelope'): void => {
  if (response.headersSent) response.destroy();
  else sendText(response, error.status, errorBodies[form](error.body), error.headers);
};

const errorBodies = { envelope: errorEnvelope, oauth: oauthErrorBody };

/** Read and discarded, so that the connection can be reused. */
const UNREAD_BYTES_MAX = 64 * 1024;
const LINGER_BYTES_MAX = 16 * 1024 * 1024;
const LINGER_MS_MAX = 2_000;

// Closing a socket with unread bytes resets the connection, and the reset overtakes the answer (RFC 9112,
// 9.6): a client that sends too large a body would not see the 413.
const finish = (response: ServerResponse, text: string): void => {
  const request = response.req;
  if (response.getHeader('Connection') === 'close') makeLast(response);
  if (request.complete || unreadBytes(request) <= UNREAD_BYTES_MAX) {
    response.end(text);
    return;
  }
  makeLast(response);
  if (text === '') response.flushHeaders();
  else response.write(text);
  discardRest(request, () => response.end());
};

const unreadBytes = ({ headers }: IncomingMessage): number =>
  headers['transfer-encoding'] === undefined ? Number(headers['content-length'] ?? 0) : Infinity;

const discardRest = (request: IncomingMessage, done: () => void): void => {
  let bytesLeft = LINGER_BYTES_MAX;
  const onData = (chunk: Buffer): void => {
    bytesLeft -= chunk.length;
    if (bytesLeft < 0) request.pause();
  };
  const settle = (): void => {
    clearTimeout(timer);
    request.off('data', onData).off('end', settle).off('close', settle);
    done();
  };
  const timer = setTimeout(settle, LINGER_MS_MAX);
  request.on('data', onData).once('end', settle).once('close', settle).resume();
};
