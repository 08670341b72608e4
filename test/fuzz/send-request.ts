import { Agent, request as httpRequest, type IncomingHttpHeaders } from 'node:http';
import { isEventStream } from '../support/read-stream.ts';
import type { WireRequest } from './draft.ts';

export interface Answer {
  readonly status: number;
  readonly headers: IncomingHttpHeaders;
  readonly text: string;
  /** Milliseconds from the first byte sent to the last byte received. */
  readonly tookMs: number;
}

export interface NoAnswer {
  readonly failure: string;
}

export type SendRequest = (request: WireRequest, port: number) => Promise<Answer | NoAnswer>;

/** A request without an answer within this time counts as unanswered. */
const ANSWER_MS_MAX = 10_000;

/** Sends requests unchanged, malformed or not, over kept-alive connections. */
export const createSender = (): { send: SendRequest; close(): void } => {
  const agent = new Agent({ keepAlive: true, maxSockets: 4 });
  const attempt = ({ method, path, headers, body }: WireRequest, port: number) =>
    new Promise<Answer | (NoAnswer & { readonly wasStale: boolean })>((resolve) => {
      const startedAt = performance.now();
      const request = httpRequest({ agent, host: '127.0.0.1', port, method, path, timeout: ANSWER_MS_MAX });
      for (const [name, values] of headers)
        request.setHeader(name, values.length === 1 ? (values[0] ?? '') : values);
      const fail = (failure: string): void => resolve({ failure, wasStale: request.reusedSocket });
      request.on('timeout', () => {
        fail(`no answer within ${ANSWER_MS_MAX} ms`);
        request.destroy();
      });
      request.on('error', (error: NodeJS.ErrnoException) => fail(error.code ?? error.message));
      request.on('response', (response) => {
        const chunks: Buffer[] = [];
        const answered = (): void =>
          resolve({
            status: response.statusCode ?? 0,
            headers: response.headers,
            text: Buffer.concat(chunks).toString(),
            tookMs: performance.now() - startedAt,
          });
        response.on('data', (chunk: Buffer) => {
          chunks.push(chunk);
          // It never ends.
          if (!isEventStream(response.headers['content-type'])) return;
          answered();
          response.destroy();
        });
        response.on('error', (error: NodeJS.ErrnoException) =>
          fail(`during the answer: ${error.code ?? error.message}`),
        );
        response.on('end', answered);
      });
      request.end(body);
    });
  return {
    send: async (request, port) => {
      const first = await attempt(request, port);
      // The server closed a kept-alive connection at the same moment. No byte of an answer was read, so a repeat is
      // allowed (RFC 9110, 9.2.2).
      if (!('failure' in first) || !first.wasStale) return first;
      return attempt({ ...request, headers: [...request.headers, ['Connection', ['close']]] }, port);
    },
    close: () => agent.destroy(),
  };
};
