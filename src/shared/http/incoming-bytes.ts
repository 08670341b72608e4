import type { IncomingMessage, ServerResponse } from 'node:http';
import { ApiError } from './errors.ts';
import { beginLongBody } from './long-bodies.ts';

/** The body of a request as it comes. */
export interface IncomingBytes {
  /** As announced; undefined when the body comes in chunks. */
  readonly length: number | undefined;
  /**
   * Begins to take the body; to be called at most once. Its chunks are the caller's, who may release them. Whoever stops
   * reading in the middle leaves the rest on the connection, and must answer with `Connection: close`.
   * @param withinMs for how long the client may send, from now on, where that is longer than any request may take: at
   *   the pace that the server asks for (`ClientTimeouts`)
   * @throws ApiError UNSUPPORTED_MEDIA_TYPE at once; BAD_REQUEST, while it is read, when the body ends too early
   */
  open(withinMs: number): AsyncIterable<Buffer>;
}

const MEDIA_TYPE = /^application\/octet-stream\s*(?:;|$)/i;

export const incomingBytes = (request: IncomingMessage, response: ServerResponse): IncomingBytes => {
  const announced = request.headers['content-length'];
  const isChunked = request.headers['transfer-encoding'] !== undefined;
  return {
    length: isChunked ? undefined : Number(announced ?? 0),
    open: (withinMs) => {
      checkMediaType(request);
      // Only now: whoever asks before sending a body learns of a refusal instead of sending it for nothing.
      if (request.headers.expect !== undefined) response.writeContinue();
      return chunksOf(request, withinMs);
    },
  };
};

/** The socket stays open whatever becomes of the iteration: a refusal is still to be sent over it. */
async function* chunksOf(request: IncomingMessage, withinMs: number): AsyncGenerator<Buffer> {
  const body = beginLongBody(request, withinMs);
  try {
    for await (const chunk of request.iterator({ destroyOnReturn: false })) {
      const bytes = chunk as Buffer;
      body.took(bytes.length);
      yield bytes;
    }
  } catch (error) {
    throw new ApiError(
      { code: 'BAD_REQUEST', message: 'The body ended before its announced length. Send it again.' },
      { Connection: 'close' },
      error,
    );
  } finally {
    body.end();
  }
}

const checkMediaType = ({ headers }: IncomingMessage): void => {
  const coding = headers['content-encoding'] ?? 'identity';
  if (MEDIA_TYPE.test(headers['content-type'] ?? '') && coding.toLowerCase() === 'identity') return;
  throw new ApiError({
    code: 'UNSUPPORTED_MEDIA_TYPE',
    message: 'Send the bytes as application/octet-stream, without a content encoding.',
  });
};
