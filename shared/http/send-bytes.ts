import type { ServerResponse } from 'node:http';
import { pipeline } from 'node:stream/promises';
import { makeLast } from './last-answer.ts';
import { sendEmpty, setHeaders } from './send.ts';
import type { OutgoingBytes, ReplyHeaders } from './route.ts';

/** An error after the headers cuts the answer. @throws the errors of `open` */
export const sendBytes = async (
  response: ServerResponse,
  status: number,
  { contentType, length, open }: OutgoingBytes,
  headers?: ReplyHeaders,
): Promise<void> => {
  const { req: request } = response;
  const source = request.method === 'HEAD' ? undefined : await open();
  response.setHeader('Content-Type', contentType);
  response.setHeader('Content-Length', length);
  if (source === undefined) return sendEmpty(response, status, headers);
  setHeaders(response, headers);
  // The request's body is not read, so the connection cannot be reused.
  if (!request.complete) makeLast(response);
  response.statusCode = status;
  await pipeline(source, response).catch(() => response.destroy());
};
