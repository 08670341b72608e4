import type { IncomingMessage, ServerResponse } from 'node:http';
import { finished } from 'node:stream';
import { ApiError } from './errors.ts';
import { beginLongBody } from './long-bodies.ts';

/** The body of a request as it comes. */
export interface IncomingBytes {
  /** As announced; undefined when the body comes in chunks. */
  readonly length: number | undefined;
  /**
   * Takes the body; to be called at most once. Whoever stops in the middle leaves the rest on the connection, and must answer
   * with `Connection: close`.
   * @param withinMs for how long the client may send, from now on, where that is longer than any request may take: at
   *   the pace that the server asks for (`ClientTimeouts`)
   * @param take is given one chunk after the other, which is its own to release; the next comes when what it returns is
   *   fulfilled
   * @throws what `take` throws, at once; ApiError UNSUPPORTED_MEDIA_TYPE, or BAD_REQUEST when the body ends too early
   */
  read(withinMs: number, take: TakeChunk): Promise<void>;
}

export type TakeChunk = (chunk: Buffer) => Promise<void> | undefined;

const MEDIA_TYPE = /^application\/octet-stream\s*(?:;|$)/i;

export const incomingBytes = (request: IncomingMessage, response: ServerResponse): IncomingBytes => {
  const announced = request.headers['content-length'];
  const isChunked = request.headers['transfer-encoding'] !== undefined;
  return {
    length: isChunked ? undefined : Number(announced ?? 0),
    read: async (withinMs, take) => {
      checkMediaType(request);
      // Only now: whoever asks before sending a body learns of a refusal instead of sending it for nothing.
      if (request.headers.expect !== undefined) response.writeContinue();
      const body = beginLongBody(request, withinMs);
      try {
        await readChunks(request, (chunk) => {
          body.took(chunk.length);
          return take(chunk);
        });
      } finally {
        body.end();
      }
    },
  };
};

/** By events: an iteration has some promises for each chunk. The socket stays open: a refusal is still to be sent over it. */
const readChunks = (request: IncomingMessage, take: TakeChunk): Promise<void> =>
  new Promise((resolve, reject) => {
    const stop = (): void => {
      request.off('data', onData);
      request.pause();
      unlisten();
    };
    const fail = (error: unknown): void => {
      stop();
      reject(error);
    };
    const goOn = (): void => void request.resume();
    const onData = (chunk: Buffer): void => {
      try {
        const isTaken = take(chunk);
        if (isTaken === undefined) return;
        request.pause();
        isTaken.then(goOn, fail);
      } catch (error) {
        fail(error);
      }
    };
    const unlisten = finished(request, { writable: false }, (error) => {
      if (error === undefined || error === null) {
        stop();
        resolve();
      } else fail(brokenOff(error));
    });
    request.on('data', onData);
  });

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
