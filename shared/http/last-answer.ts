import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Socket } from 'node:net';

const closing = new WeakSet<Socket>();

/** Makes this the last answer of its connection. */
export const makeLast = (response: ServerResponse): void => {
  response.setHeader('Connection', 'close');
  closing.add(response.req.socket);
};

/**
 * True for a request after the last answer of its connection. Node emits it, but it must not run (RFC 9112, 9.6): its
 * answer could not be sent, and after an ambiguous request it may be part of that request's body.
 */
export const isBehindLast = (request: IncomingMessage): boolean => closing.has(request.socket);
