import { connect, type Socket } from 'node:net';
import { afterEach, describe, expect, it } from '@jest/globals';
import { z } from 'zod';
import { sleep } from '../../src/shared/backoff.ts';
import { route } from '../../src/shared/http/route.ts';
import { startToyService, type ToyOptions, type ToyService } from '../support/toy-service.ts';

/**
 * Clients that take their time. `SLOW_CLIENTS=long` runs the server with the timeouts it ships with, and the
 * attack for at least 20 s.
 */

const isLong = process.env['SLOW_CLIENTS'] === 'long';
const SLOW = 200;
const ATTACK_MS = isLong ? 20_000 : 4_000;
const timeouts: ToyOptions = isLong
  ? {}
  : { timeouts: { headersMs: 2_000, requestMs: 3_000, silenceMs: 3_000 } };
/** The longest of them, the interval at which they are looked for, and room for a busy machine. */
const CUT_MS_MAX = isLong ? 80_000 : 12_000;

let toys: ToyService;
const clients: Socket[] = [];
afterEach(async () => {
  for (const socket of clients.splice(0)) socket.destroy();
  await toys.server.drain();
});

interface Slow {
  readonly socket: Socket;
  cut: boolean;
}

/** Opens a connection, then sends a byte of the text every 200 ms. */
const dribble = (text: string): Slow => {
  const socket = connect(toys.port, '127.0.0.1');
  clients.push(socket);
  const slow: Slow = { socket, cut: false };
  let at = 0;
  const timer = setInterval(() => {
    const next = text[at++];
    if (next !== undefined) socket.write(next);
  }, 200);
  socket.resume();
  socket.on('error', () => undefined);
  socket.on('close', () => {
    clearInterval(timer);
    slow.cut = true;
  });
  return slow;
};

const isCut = async (slow: readonly Slow[]): Promise<boolean> => {
  const startedAt = performance.now();
  while (slow.some(({ cut }) => !cut) && performance.now() - startedAt < CUT_MS_MAX) await sleep(50);
  return slow.every(({ cut }) => cut);
};

/** Requests for as long as the attack lasts: how many were answered, and the longest wait. */
const others = async (): Promise<{ answered: number; failed: number; longestMs: number }> => {
  const result = { answered: 0, failed: 0, longestMs: 0 };
  const end = performance.now() + ATTACK_MS;
  while (performance.now() < end) {
    const startedAt = performance.now();
    const answer = await fetch(`${toys.url}/toys/newest`).catch(() => undefined);
    await answer?.arrayBuffer();
    if (answer?.status === 200) result.answered += 1;
    else result.failed += 1;
    result.longestMs = Math.max(result.longestMs, performance.now() - startedAt);
    await sleep(10);
  }
  return result;
};

const megabyte = JSON.stringify('a'.repeat(1_000_000));
const large = route({
  method: 'get',
  path: '/large',
  operationId: 'getLarge',
  summary: 'A megabyte',
  tag: 'Toys',
  access: 'public',
  responses: { 200: { description: 'A megabyte', data: z.string() } },
  handle: async () => ({ status: 200, dataJson: megabyte }),
});

/** Takes longer than any timeout. */
const body = JSON.stringify({ value: 'a'.repeat(1_000) });

describe(`${SLOW} slow clients`, () => {
  it.each([
    ['that send nothing', ''],
    [
      'that send their headers byte by byte',
      `GET /toys/newest HTTP/1.1\r\nHost: a\r\nX-A: ${'a'.repeat(10_000)}`,
    ],
    [
      'that send their body byte by byte',
      `POST /echo HTTP/1.1\r\nHost: a\r\nContent-Type: application/json\r\nContent-Length: ${body.length}\r\n\r\n`,
    ],
  ])(
    '%s are all cut, and nobody else notices',
    async (_what, text) => {
      toys = await startToyService(timeouts);
      const slow = Array.from({ length: SLOW }, () => {
        const client = dribble(text.startsWith('POST') ? body : text);
        if (text.startsWith('POST')) client.socket.write(text);
        return client;
      });
      const { answered, failed, longestMs } = await others();
      expect(failed).toBe(0);
      expect(answered).toBeGreaterThan(20);
      expect(longestMs).toBeLessThan(5_000);
      expect(await isCut(slow)).toBe(true);
    },
    ATTACK_MS + CUT_MS_MAX + 20_000,
  );

  it(
    'that ask for much and read nothing are all cut, and nobody else notices',
    async () => {
      toys = await startToyService({ ...timeouts, routes: [large] });
      const slow = Array.from({ length: 10 }, () => {
        const client = dribble('');
        client.socket.pause();
        // More than the system keeps for a reader who does not read.
        client.socket.write('GET /large HTTP/1.1\r\nHost: a\r\n\r\n'.repeat(12));
        return client;
      });
      const { failed, longestMs } = await others();
      expect([failed, longestMs < 8_000]).toEqual([0, true]);
      // They learn of it when they look.
      await sleep(isLong ? 35_000 : 5_000);
      for (const { socket } of slow) socket.resume();
      expect(await isCut(slow)).toBe(true);
    },
    ATTACK_MS + CUT_MS_MAX + 60_000,
  );
});

describe('connections', () => {
  it('beyond their number are closed at once; those that are open go on, and a closed one makes room', async () => {
    toys = await startToyService({ connectionsMax: 20 });
    const open = Array.from({ length: 20 }, () => dribble(''));
    await sleep(300);
    const further = dribble('');
    const startedAt = performance.now();
    while (!further.cut && performance.now() - startedAt < 5_000) await sleep(10);
    expect(further.cut).toBe(true);
    expect(open.some(({ cut }) => cut)).toBe(false);
    open[0]?.socket.destroy();
    await sleep(200);
    const answer = await fetch(`${toys.url}/toys/newest`);
    expect([answer.status, (await answer.text()).length > 0]).toEqual([200, true]);
    for (const { socket } of open) socket.destroy();
  });
});
