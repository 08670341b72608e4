import { connect, type Socket } from 'node:net';
import { afterAll, describe, expect, it } from '@jest/globals';
import { z } from 'zod';
import { sleep } from '../../shared/async/backoff.ts';
import { route } from '../../shared/http/route.ts';
import { runTogether } from '../support/run-together.ts';
import { startToyService, type ToyOptions, type ToyService } from '../support/toy-service.ts';

/**
 * Clients that take their time. `SLOW_CLIENTS=long` runs the server with the timeouts it ships with, and the
 * attack of every kind with 200 clients for at least 20 s.
 */

const isLong = process.env['SLOW_CLIENTS'] === 'long';
const SLOW = 200;
/** Each holds megabytes of an answer. */
const SLOW_READERS = isLong ? SLOW : 10;
const ATTACK_MS = isLong ? 20_000 : 4_000;
const OTHERS_MIN = 20;
const timeouts: ToyOptions = isLong
  ? {}
  : {
      timeouts: {
        headersMs: 2_000,
        requestMs: 3_000,
        silenceMs: 3_000,
        pace: { bytesPerSecondMin: 1_000, spanMs: 3_000 },
      },
    };
/** The longest of them, the interval at which they are looked for, and room for a busy machine. */
const CUT_MS_MAX = isLong ? 80_000 : 30_000;

const servers: ToyService[] = [];
const clients: Socket[] = [];
afterAll(async () => {
  for (const socket of clients) socket.destroy();
  await Promise.all(servers.map(({ server }) => server.drain()));
});

const startToys = async (options: ToyOptions): Promise<ToyService> => {
  const toys = await startToyService(options);
  servers.push(toys);
  return toys;
};

interface Slow {
  readonly socket: Socket;
  readonly openedAt: number;
  cut: boolean;
  /** Seconds from its opening, once cut. */
  cutAfter: number;
}

/** Opens a connection, then sends a byte of the text every 200 ms. */
const dribble = ({ port }: ToyService, text: string): Slow => {
  const socket = connect(port, '127.0.0.1');
  clients.push(socket);
  const slow: Slow = { socket, openedAt: performance.now(), cut: false, cutAfter: 0 };
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
    slow.cutAfter = (performance.now() - slow.openedAt) / 1_000;
  });
  return slow;
};

const isCut = async (slow: readonly Slow[]): Promise<boolean> => {
  const startedAt = performance.now();
  while (slow.some(({ cut }) => !cut) && performance.now() - startedAt < CUT_MS_MAX) await sleep(50);
  return slow.every(({ cut }) => cut);
};

const report = (what: string, slow: readonly Slow[], { answered, longestMs }: Others): void => {
  const after = slow.map(({ cutAfter }) => cutAfter);
  console.log(
    `${slow.length} slow clients ${what}: all cut, ${Math.min(...after).toFixed(1)} to ${Math.max(...after).toFixed(1)} s ` +
      `after they came; others: ${answered} answers, none failed, the slowest after ${longestMs.toFixed(0)} ms`,
  );
};

interface Others {
  answered: number;
  /** While there were slow clients. */
  beside: number;
  failed: number;
  longestMs: number;
}

/** Requests for as long as the attack lasts, and some at least: how many were answered, and the longest wait. */
const others = async ({ url }: ToyService, slow: readonly Slow[]): Promise<Others> => {
  const result = { answered: 0, beside: 0, failed: 0, longestMs: 0 };
  const end = performance.now() + ATTACK_MS;
  while (performance.now() < end || result.answered + result.failed < OTHERS_MIN) {
    const startedAt = performance.now();
    const answer = await fetch(`${url}/toys/newest`).catch(() => undefined);
    await answer?.arrayBuffer();
    if (answer?.status === 200) result.answered += 1;
    else result.failed += 1;
    if (answer?.status === 200 && slow.some(({ cut }) => !cut)) result.beside += 1;
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

/** @param text what each sends; a request with a body sends that slowly, and the rest at once */
const areCut = async (what: string, text: string): Promise<void> => {
  const toys = await startToys(timeouts);
  const slow = Array.from({ length: SLOW }, () => {
    const client = dribble(toys, text.startsWith('POST') ? body : text);
    if (text.startsWith('POST')) client.socket.write(text);
    return client;
  });
  const other = await others(toys, slow);
  expect(other.failed).toBe(0);
  expect(other.beside).toBeGreaterThan(0);
  expect(await isCut(slow)).toBe(true);
  report(what, slow, other);
};

const readersAreCut = async (): Promise<void> => {
  const toys = await startToys({ ...timeouts, routes: [large] });
  const slow: Slow[] = [];
  const noticed = others(toys, slow);
  while (slow.length < SLOW_READERS) {
    const client = dribble(toys, '');
    client.socket.pause();
    // More than the system keeps for a reader who does not read.
    client.socket.write('GET /large HTTP/1.1\r\nHost: a\r\n\r\n'.repeat(12));
    slow.push(client);
    // To make hundreds of such answers is work, whoever reads them: not all in one moment.
    await sleep(50);
  }
  const other = await noticed;
  expect(other.failed).toBe(0);
  expect(other.beside).toBeGreaterThan(0);
  // Node takes what the system swallowed for progress, once: they are cut after twice the silence at most, and
  // learn of it when they look. Who was not cut would get everything, and stay for the keep-alive time of 65 s.
  await sleep(isLong ? 65_000 : 10_000);
  for (const { socket } of slow) socket.resume();
  expect(await isCut(slow)).toBe(true);
  report('that ask for much and read nothing (seen when they look)', slow, other);
};

const headers = `GET /toys/newest HTTP/1.1\r\nHost: a\r\nX-A: ${'a'.repeat(10_000)}`;
const post = `POST /echo HTTP/1.1\r\nHost: a\r\nContent-Type: application/json\r\nContent-Length: ${body.length}\r\n\r\n`;

describe(`${SLOW} slow clients of each kind are all cut, and nobody else notices`, () => {
  runTogether(
    {
      'that send nothing': () => areCut('that send nothing', ''),
      'that send their headers byte by byte': () => areCut('that send their headers byte by byte', headers),
      'that send their body byte by byte': () => areCut('that send their body byte by byte', post),
      'that ask for much and read nothing': readersAreCut,
    },
    ATTACK_MS + 2 * CUT_MS_MAX + 60_000,
  );
});

describe('connections', () => {
  it('beyond their number are closed at once; those that are open go on, and a closed one makes room', async () => {
    const toys = await startToys({ connectionsMax: 20 });
    const open = Array.from({ length: 20 }, () => dribble(toys, ''));
    await sleep(300);
    const further = dribble(toys, '');
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
