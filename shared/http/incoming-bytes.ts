import type { IncomingMessage, ServerResponse } from 'node:http';
import { ApiError } from './errors.ts';
import { beginLongBody } from './long-bodies.ts';

export interface IncomingBytes {
  readonly length: number | undefined;
  /**
   * Call it once; after an early stop, answer with `Connection: close`. @param withinMs replaces the request
   * timeout @throws ApiError UNSUPPORTED_MEDIA_TYPE, BAD_REQUEST
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
      // A client that sends `Expect` receives a refusal before it has sent the body.
      if (request.headers.expect !== undefined) response.writeContinue();
      const body = beginLongBody(request, withinMs);
      try {
        // The socket stays open, because a refusal is sent over it.
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
