import type { ServerResponse } from 'node:http';
import { pipeline } from 'node:stream/promises';
import { makeLast } from './last-answer.ts';
import { sendEmpty } from './send.ts';
import type { OutgoingBytes } from './route.ts';

/**
 * Sends bytes as they are read, at the pace at which the client takes them. Fails before the answer has begun, or
 * cuts it: its length tells the client that something is missing.
 * @throws whatever `open` throws
 */
export const sendBytes = async (
  response: ServerResponse,
  status: number,
  { contentType, length, open }: OutgoingBytes,
  headers: Readonly<Record<string, string>> = {},
): Promise<void> => {
  const { req: request } = response;
  const source = request.method === 'HEAD' ? undefined : await open();
  response.setHeader('Content-Type', contentType);
  response.setHeader('Content-Length', length);
  if (source === undefined) return sendEmpty(response, status, headers);
  for (const name in headers) response.setHeader(name, headers[name] ?? '');
  // A body that nobody asked for is not waited for.
  if (!request.complete) makeLast(response);
  response.statusCode = status;
  await pipeline(source, response).catch(() => response.destroy());
};
