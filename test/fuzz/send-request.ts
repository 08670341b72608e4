import { Agent, request as httpRequest, type IncomingHttpHeaders } from 'node:http';
import type { WireRequest } from './draft.ts';

export interface Answer {
  readonly status: number;
  readonly headers: IncomingHttpHeaders;
  readonly text: string;
  /** From the first byte sent to the last one received, ms. */
  readonly tookMs: number;
}

export interface NoAnswer {
  readonly failure: string;
}

export type SendRequest = (request: WireRequest, port: number) => Promise<Answer | NoAnswer>;

/** After this long a request counts as never answered. */
const ANSWER_MS_MAX = 10_000;

/** Sends requests as they are, malformed or not, over kept connections. */
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
        response.on('data', (chunk: Buffer) => chunks.push(chunk));
        response.on('error', (error: NodeJS.ErrnoException) =>
          fail(`within the answer: ${error.code ?? error.message}`),
        );
        response.on('end', () =>
          resolve({
            status: response.statusCode ?? 0,
            headers: response.headers,
            text: Buffer.concat(chunks).toString(),
            tookMs: performance.now() - startedAt,
          }),
        );
      });
      request.end(body);
    });
  return {
    send: async (request, port) => {
      const first = await attempt(request, port);
      // A kept connection that the server closed in the same moment: nothing was read from it (RFC 9110, 9.2.2).
      if (!('failure' in first) || !first.wasStale) return first;
      return attempt({ ...request, headers: [...request.headers, ['Connection', ['close']]] }, port);
    },
    close: () => agent.destroy(),
  };
};
