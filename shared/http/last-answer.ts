import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Socket } from 'node:net';

const closing = new WeakSet<Socket>();

/** Makes an answer the last one of its connection. */
export const makeLast = (response: ServerResponse): void => {
  response.setHeader('Connection', 'close');
  closing.add(response.req.socket);
};

/**
 * True for a request behind an answer that is the last one of its connection. It must not run (RFC 9112, 9.6):
 * its answer would never be sent, and behind an ambiguous request it may be a part of that one's body. Node
 * hands it over all the same.
 */
export const isBehindLast = (request: IncomingMessage): boolean => closing.has(request.socket);
