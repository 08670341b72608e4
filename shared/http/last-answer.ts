import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Socket } from 'node:net';

const closing = new WeakSet<Socket>();

export const makeLast = (response: ServerResponse): void => {
  response.setHeader('Connection', 'close');
  closing.add(response.req.socket);
};

/** Must not run (RFC 9112, 9.6): the request may be part of an ambiguous body. */
export const isAfterLastAnswer = (request: IncomingMessage): boolean => closing.has(request.socket);
