import { Agent, request } from 'node:http';
import type { Api, ApiAnswer, ApiEnvelope } from './api-client.ts';

/**
 * Like `apiOf`, with a third of the processor time, so that the load does not bound the measurement. Bodies are parsed
 * only when they are used.
 * @param credential the headers that authenticate the caller
 * @param connectionsMax 1: every request takes the same connection, as long as it is open
 */
export const leanApiOf = (
  baseUrl: string,
  credential: Readonly<Record<string, string>>,
  connectionsMax = Infinity,
): Pick<Api, 'get' | 'put' | 'post'> & { readonly close: () => void } => {
  const agent = new Agent({ keepAlive: true, maxSockets: connectionsMax });
  const send = <Data>(method: string, path: string, body?: unknown): Promise<ApiAnswer<Data>> =>
    new Promise((resolve, reject) => {
      const headers = { 'Content-Type': 'application/json', ...credential };
      const sent = request(`${baseUrl}/api/v2/buyer${path}`, { method, agent, headers }, (answer) => {
        const chunks: Buffer[] = [];
        answer.on('data', (chunk: Buffer) => chunks.push(chunk));
        answer.once('error', reject);
        answer.once('end', () => {
          const bytes = Buffer.concat(chunks);
          resolve({
            status: answer.statusCode ?? 0,
            get headers() {
              const lines = Object.entries(answer.headersDistinct);
              return new Headers(
                lines.flatMap(([name, values = []]) => values.map((value) => [name, value])),
              );
            },
            get text() {
              return bytes.toString();
            },
            get body() {
              return JSON.parse(bytes.toString()) as ApiEnvelope<Data>;
            },
          });
        });
      });
      sent.once('error', reject);
      sent.end(body === undefined ? undefined : JSON.stringify(body));
    });
  return {
    get: (path) => send('GET', path),
    put: (path, body) => send('PUT', path, body),
    post: (path, body) => send('POST', path, body),
    close: () => agent.destroy(),
  };
};
