import { IncomingMessage } from 'node:http';
import { Socket } from 'node:net';
import { afterEach, expect, it } from '@jest/globals';
import { sleep } from '../../shared/async/backoff.ts';
import { beginLongBody, createPaceCheck, type LongBody } from '../../shared/http/long-bodies.ts';

const pace = { bytesPerSecondMin: 1_000, spanMs: 40 };

const open: LongBody[] = [];
afterEach(() => open.splice(0).forEach((body) => body.end()));

/** A request whose body has begun. Pushed bytes have arrived. */
const begin = (withinMs = 60_000): { readonly request: IncomingMessage; readonly body: LongBody } => {
  const request = new IncomingMessage(new Socket());
  const body = beginLongBody(request, withinMs);
  open.push(body);
  return { request, body };
};
const never = (): void => {
  throw new Error('the body is fast enough');
};

it('arrived bytes count even if the service has not read them yet', async () => {
  const { request } = begin();
  await sleep(20);
  request.push(Buffer.alloc(10_000));
  expect(createPaceCheck(pace)(request.socket, never)).toBe(true);
});

it('arrived bytes are counted once', async () => {
  const { request, body } = begin();
  request.push(Buffer.alloc(10_000));
  await sleep(5);
  const late = new Promise<number>((resolve) => {
    expect(createPaceCheck(pace)(request.socket, () => resolve(performance.now()))).toBe(true);
  });
  const startedAt = performance.now();
  request.read();
  body.took(10_000);
  expect((await late) - startedAt).toBeLessThan(10 * pace.spanMs);
});

it('after its end the connection is no longer checked', async () => {
  const { request, body } = begin();
  body.took(10_000);
  const keepsPace = createPaceCheck(pace);
  expect(keepsPace(request.socket, never)).toBe(true);
  body.end();
  await sleep(3 * pace.spanMs);
  expect(keepsPace(request.socket, never)).toBe(false);
});
