import { once } from 'node:events';
import { createServer, type Server } from 'node:http';
import { connect, type AddressInfo } from 'node:net';
import { afterEach, beforeEach, expect, it } from '@jest/globals';
import { sleep } from '../../shared/async/backoff.ts';
import { ApiError } from '../../shared/http/errors.ts';
import { incomingBytes } from '../../shared/http/incoming-bytes.ts';

let server: Server;
/** Processes each chunk. */
let processChunk: () => Promise<void> | undefined;
/** Runs before the body is read. */
let before: () => Promise<unknown>;
/** The size or the error of each body. */
let results: unknown[];
beforeEach(async () => {
  results = [];
  before = async () => undefined;
  server = createServer((request, response) => {
    let bytes = 0;
    void before()
      .then(async () => {
        for await (const chunk of incomingBytes(request, response).read(60_000)) {
          bytes += chunk.length;
          await processChunk();
        }
      })
      .then(
        () => results.push(bytes),
        (error: unknown) => {
          results.push(error);
          response.setHeader('Connection', 'close');
        },
      )
      .then(() => response.end(String(bytes)));
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
});
afterEach(() => {
  server.closeAllConnections();
  server.close();
});

/** Sends raw text. @returns the socket and its answers */
const open = (text: string) => {
  const socket = connect((server.address() as AddressInfo).port, '127.0.0.1');
  let answers = '';
  socket.on('data', (chunk) => (answers += chunk.toString()));
  socket.on('error', () => undefined);
  socket.write(text);
  const ended = once(socket, 'close').then(() => answers);
  return { socket, ended, answers: () => answers };
};

const head = (framing: string, more = ''): string =>
  `PUT / HTTP/1.1\r\nHost: a\r\nContent-Type: application/octet-stream\r\n${framing}\r\n${more}\r\n`;
const ofLength = (bytes: number, more = ''): string => head(`Content-Length: ${bytes}`, more);

const until = async (isSo: () => boolean): Promise<void> => {
  while (!isSo()) await sleep(5);
};

const broken = expect.objectContaining({ body: expect.objectContaining({ code: 'BAD_REQUEST' }) });

it('reads the bodies of one connection in order: with a length, chunked and empty', async () => {
  processChunk = () => undefined;
  const { ended } = open(
    ofLength(5) +
      'abcde' +
      ofLength(0) +
      head('Transfer-Encoding: chunked') +
      '3\r\nabc\r\n2\r\nde\r\n0\r\n\r\n' +
      head('Transfer-Encoding: chunked') +
      '0\r\n\r\n' +
      ofLength(1, 'Connection: close\r\n') +
      'a',
  );
  await ended;
  expect(results).toEqual([5, 0, 5, 0, 1]);
});

it('returns a chunk only when the previous one is processed', async () => {
  let processing = 0;
  processChunk = async () => {
    expect(++processing).toBe(1);
    await sleep(3);
    processing -= 1;
  };
  const body = Buffer.alloc(2_000_000, 'x').toString();
  await open(ofLength(body.length, 'Connection: close\r\n') + body).ended;
  expect(results).toEqual([2_000_000]);
});

it('an aborted body is reported, also while a chunk is processed and before the body is read', async () => {
  let isProcessed = (): void => undefined;
  processChunk = () => new Promise<void>((resolve) => (isProcessed = resolve));
  const first = open(`${ofLength(10)}abc`);
  await until(() => first.socket.bytesWritten > 0);
  await sleep(50);
  first.socket.destroy();
  await sleep(50);
  isProcessed();
  await until(() => results.length === 1);

  processChunk = () => undefined;
  const second = open(`${ofLength(10)}abc`);
  await sleep(50);
  second.socket.destroy();
  await until(() => results.length === 2);

  before = () => sleep(150);
  const third = open(ofLength(10));
  await sleep(50);
  third.socket.destroy();
  await until(() => results.length === 3);
  expect(results.every((one) => one instanceof ApiError)).toBe(true);
  expect(results).toEqual([broken, broken, broken]);
});

it('given an error in the processing, then the rest is not read and the client receives the answer', async () => {
  for (const refuse of [
    () => {
      throw new Error('enough');
    },
    () => Promise.reject(new Error('enough')),
  ]) {
    processChunk = refuse;
    const { ended } = open(ofLength(50_000_000) + 'x'.repeat(200_000));
    expect(await ended).toContain('200 OK');
  }
  expect(results).toEqual([new Error('enough'), new Error('enough')]);
});
