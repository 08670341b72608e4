import { connect, type Socket } from 'node:net';
import { afterAll, describe, expect, it } from '@jest/globals';
import { z } from 'zod';
import { sleep } from '../../shared/async/backoff.ts';
import { route } from '../../shared/http/route.ts';
import { runTogether } from '../support/run-together.ts';
import { startToyService, type ToyOptions, type ToyService } from '../support/toy-service.ts';

/** `SLOW_CLIENTS=long` uses the default timeouts, and each attack has 200 clients for at least 20 s. */

const isLong = process.env['SLOW_CLIENTS'] === 'long';
const SLOW = 200;
/** Fewer, because each one holds megabytes of an answer. */
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
/** The longest timeout plus the check interval, with a margin for a busy machine. */
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

interface SlowClient {
  readonly socket: Socket;
  readonly openedAt: number;
  cut: boolean;
  /** Seconds from its opening until the server closed it. */
  cutAfter: number;
}

/** Opens a connection, then sends a byte of the text every 200 ms. */
const sendSlowly = ({ port }: ToyService, text: string): SlowClient => {
  const socket = connect(port, '127.0.0.1');
  clients.push(socket);
  const slow: SlowClient = { socket, openedAt: performance.now(), cut: false, cutAfter: 0 };
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

const isCut = async (slow: readonly SlowClient[]): Promise<boolean> => {
  const startedAt = performance.now();
  while (slow.some(({ cut }) => !cut) && performance.now() - startedAt < CUT_MS_MAX) await sleep(50);
  return slow.every(({ cut }) => cut);
};

const report = (what: string, slow: readonly SlowClient[], { answered, longestMs }: OtherClients): void => {
  const after = slow.map(({ cutAfter }) => cutAfter);
  console.log(
    `${slow.length} slow clients ${what}: all disconnected, ${Math.min(...after).toFixed(1)} to ${Math.max(...after).toFixed(1)} s ` +
      `after they connected; other clients: ${answered} answers, none failed, the slowest after ${longestMs.toFixed(0)} ms`,
  );
};

interface OtherClients {
  answered: number;
  /** Answers while slow clients were connected. */
  duringAttack: number;
  failed: number;
  longestMs: number;
}

/** Sends requests during the attack, at least `OTHERS_MIN`. */
const others = async ({ url }: ToyService, slow: readonly SlowClient[]): Promise<OtherClients> => {
  const result = { answered: 0, duringAttack: 0, failed: 0, longestMs: 0 };
  const end = performance.now() + ATTACK_MS;
  while (performance.now() < end || result.answered + result.failed < OTHERS_MIN) {
    const startedAt = performance.now();
    const answer = await fetch(`${url}/toys/newest`).catch(() => undefined);
    await answer?.arrayBuffer();
    if (answer?.status === 200) result.answered += 1;
    else result.failed += 1;
    if (answer?.status === 200 && slow.some(({ cut }) => !cut)) result.duringAttack += 1;
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

/** Slower than any timeout. */
const body = JSON.stringify({ value: 'a'.repeat(1_000) });

/** @param text sent slowly by each client; of a POST request only the body is sent slowly */
const expectDisconnected = async (what: string, text: string): Promise<void> => {
  const toys = await startToys(timeouts);
  const slow = Array.from({ length: SLOW }, () => {
    const client = sendSlowly(toys, text.startsWith('POST') ? body : text);
    if (text.startsWith('POST')) client.socket.write(text);
    return client;
  });
  const other = await others(toys, slow);
  expect(other.failed).toBe(0);
  expect(other.duringAttack).toBeGreaterThan(0);
  expect(await isCut(slow)).toBe(true);
  report(what, slow, other);
};

const expectReadersDisconnected = async (): Promise<void> => {
  const toys = await startToys({ ...timeouts, routes: [large] });
  const slow: SlowClient[] = [];
  const noticed = others(toys, slow);
  while (slow.length < SLOW_READERS) {
    const client = sendSlowly(toys, '');
    client.socket.pause();
    // More than the system buffers for a client that does not read.
    client.socket.write('GET /large HTTP/1.1\r\nHost: a\r\n\r\n'.repeat(12));
    slow.push(client);
    // Hundreds of such answers take processor time, so they are spread out.
    await sleep(50);
  }
  const other = await noticed;
  expect(other.failed).toBe(0);
  expect(other.duringAttack).toBeGreaterThan(0);
  // Node counts the bytes that the system buffered as progress, once: the server disconnects after at most twice the
  // silence timeout, and the client notices when it reads. Otherwise it would stay for the keep-alive time of 65 s.
  await sleep(isLong ? 65_000 : 10_000);
  for (const { socket } of slow) socket.resume();
  expect(await isCut(slow)).toBe(true);
  report('that request much and read nothing (noticed when they read)', slow, other);
};

const headers = `GET /toys/newest HTTP/1.1\r\nHost: a\r\nX-A: ${'a'.repeat(10_000)}`;
const post = `POST /echo HTTP/1.1\r\nHost: a\r\nContent-Type: application/json\r\nContent-Length: ${body.length}\r\n\r\n`;

describe(`given ${SLOW} slow clients, then all are disconnected and other clients are not affected`, () => {
  runTogether(
    {
      'that send nothing': () => expectDisconnected('that send nothing', ''),
      'that send their headers byte by byte': () =>
        expectDisconnected('that send their headers byte by byte', headers),
      'that send their body byte by byte': () =>
        expectDisconnected('that send their body byte by byte', post),
      'that request much and read nothing': expectReadersDisconnected,
    },
    ATTACK_MS + 2 * CUT_MS_MAX + 60_000,
  );
});

describe('connections', () => {
  it('beyond the maximum are closed immediately; open ones stay, and a closed one frees a slot', async () => {
    const toys = await startToys({ connectionsMax: 20 });
    const open = Array.from({ length: 20 }, () => sendSlowly(toys, ''));
    await sleep(300);
    const further = sendSlowly(toys, '');
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
