import type { IncomingMessage, ServerResponse } from 'node:http';
import { ApiError } from './errors.ts';
import { beginLongBody } from './long-bodies.ts';

/** The body of a request as it comes. */
export interface IncomingBytes {
  /** As announced; undefined when the body comes in chunks. */
  readonly length: number | undefined;
  /**
   * The body, to be read at most once. A reader that stops in the middle leaves the rest on the connection, and must answer
   * with `Connection: close`.
   * @param withinMs for how long the client may send, from now on, where that is longer than any request may take: at
   *   the pace that the server asks for (`ClientTimeouts`)
   * @throws ApiError UNSUPPORTED_MEDIA_TYPE, or BAD_REQUEST when the body ends too early
   */
  read(withinMs: number): AsyncIterable<Buffer>;
}

const MEDIA_TYPE = /^application\/octet-stream\s*(?:;|$)/i;

export const incomingBytes = (request: IncomingMessage, response: ServerResponse): IncomingBytes => {
  const announced = request.headers['content-length'];
  const isChunked = request.headers['transfer-encoding'] !== undefined;
  return {
    length: isChunked ? undefined : Number(announced ?? 0),
    read: async function* (withinMs) {
      checkMediaType(request);
      // Only now: a client that asks before it sends a body learns of a refusal instead of sending it for nothing.
      if (request.headers.expect !== undefined) response.writeContinue();
      const body = beginLongBody(request, withinMs);
      try {
        // The socket stays open: a refusal is still to be sent over it.
        for await (const chunk of request.iterator({ destroyOnReturn: false })) {
          body.took((chunk as Buffer).length);
          yield chunk as Buffer;
        }
      } catch (error) {
        throw brokenOff(error as Error);
      } finally {
        body.end();
      }
    },
  };
};

const brokenOff = (error: Error): ApiError =>
  new ApiError(
    { code: 'BAD_REQUEST', message: 'The body ended before its announced length. Send it again.' },
    { Connection: 'close' },
    error,
  );

const checkMediaType = ({ headers }: IncomingMessage): void => {
  const coding = headers['content-encoding'] ?? 'identity';
  if (MEDIA_TYPE.test(headers['content-type'] ?? '') && coding.toLowerCase() === 'identity') return;
  throw new ApiError({
    code: 'UNSUPPORTED_MEDIA_TYPE',
    message: 'Send the bytes as application/octet-stream, without a content encoding.',
  });
};
