import { fork } from 'node:child_process';
import { subscribe, unsubscribe } from 'node:diagnostics_channel';
import { once } from 'node:events';
import { connect, type Socket } from 'node:net';
import { afterEach, describe, expect, it } from '@jest/globals';
import { sleep } from '../../shared/async/backoff.ts';
import { createReadiness, type ReadinessPart } from '../../shared/async/readiness.ts';
import { testProgram } from '../support/bundles.ts';
import { parseAnswers, rawExchange } from '../support/raw-http.ts';
import type { ClientReport } from '../support/returning-clients-process.ts';
import { startToyService, type ToyService } from '../support/toy-service.ts';

interface Tally {
  answered: number;
  /** Requests whose connection ended before their answer. */
  lost: number;
  /** Clients that received `Connection: close` and disconnected. */
  left: number;
}

/** Sends one request after the other on one connection until it receives `Connection: close`. */
const keepAliveClient = async (port: number, path: string, tally: Tally): Promise<void> => {
  const socket = connect(port, '127.0.0.1');
  for (;;) {
    const answer = await oneAnswer(socket, `GET ${path} HTTP/1.1\r\nHost: a\r\n\r\n`);
    if (answer === undefined) {
      tally.lost += 1;
      return;
    }
    tally.answered += 1;
    if (/\r\nconnection: close\r\n/i.test(answer)) {
      tally.left += 1;
      socket.destroy();
      return;
    }
  }
};

const oneAnswer = (socket: Socket, request: string): Promise<string | undefined> =>
  new Promise((resolve) => {
    const settle = (answer: string | undefined): void => {
      socket.removeAllListeners();
      socket.on('error', () => undefined);
      resolve(answer);
    };
    socket.on('data', (chunk) => settle(chunk.toString('latin1')));
    socket.on('error', () => settle(undefined)).on('close', () => settle(undefined));
    socket.write(request);
  });

let toys: ToyService | undefined;
afterEach(async () => {
  await toys?.server.drain();
  toys = undefined;
});

const DRAIN_DELAY_MS = 500;

/** Ports of the clients whose connections servers of this process accept, until `end`. */
const watchAccepted = () => {
  const ports = new Set<number>();
  const note = (message: unknown): void => {
    ports.add((message as { readonly socket: Socket }).socket.remotePort ?? 0);
  };
  subscribe('net.server.socket', note);
  return { ports, end: () => unsubscribe('net.server.socket', note) };
};

interface Round extends ClientReport {
  /** Accepted connections that ended without an answer. */
  readonly acceptedLost: number;
  /** Connections that were in the kernel's queue when the listener closed. */
  readonly queuedLost: number;
}

const CLIENTS = 50;
const ROUNDS = 20;

/** Drains a server while clients reconnect to its port after each `Connection: close`. */
const returningRound = async (path: string, drainDelayMs: number): Promise<Round> => {
  const accepted = watchAccepted();
  const { server, port, seen } = await startToyService({ drainDelayMs });
  const clients = fork(
    testProgram('support/returning-clients-process.js'),
    [port, CLIENTS, path].map(String),
  );
  const message = once(clients, 'message');
  while (accepted.ports.size < CLIENTS || seen.length < 2 * CLIENTS) await sleep(5);
  await server.drain();
  const [returned] = (await message) as [ClientReport];
  accepted.end();
  const acceptedLost = returned.lost.filter((lost) => accepted.ports.has(lost)).length;
  return { ...returned, acceptedLost, queuedLost: returned.lost.length - acceptedLost };
};

const sum = (rounds: readonly Round[], of: 'answered' | 'refused' | 'acceptedLost' | 'queuedLost'): number =>
  rounds.reduce((total, round) => total + round[of], 0);

describe('the drain of a server', () => {
  it.each([
    ['without a delay', 2, 0],
    ['without a delay', 40, 0],
    ['behind a load balancer', 2, 300],
  ])(
    `%s, with requests of %i ms, resets none of ${CLIENTS} clients that reconnect to the same port`,
    async (what, forMs, drainDelayMs) => {
      const rounds: Round[] = [];
      for (let n = 0; n < ROUNDS; n += 1) {
        rounds.push(await returningRound(`/campaigns/a/slow?forMs=${forMs}`, drainDelayMs));
      }
      const queuedLost = sum(rounds, 'queuedLost');
      console.log(
        `${what}, requests of ${forMs} ms, ${ROUNDS} ends: ${sum(rounds, 'answered')} answered, accepted and reset ` +
          `${sum(rounds, 'acceptedLost')}, reset in the kernel's queue ${queuedLost}`,
      );
      expect(sum(rounds, 'acceptedLost')).toBe(0);
      expect(sum(rounds, 'refused')).toBe(ROUNDS * CLIENTS);
      // A busy machine may interrupt the process during the close, so a few resets are possible.
      expect(queuedLost).toBeLessThan(ROUNDS);
    },
  );

  it.each([
    ['quick', '/toys/newest'],
    ['slow', '/campaigns/a/slow?forMs=120'],
  ])('resets none of 50 keep-alive clients with %s requests', async (_what, path) => {
    const { server, port } = await startToyService({ drainDelayMs: DRAIN_DELAY_MS });
    const tally: Tally = { answered: 0, lost: 0, left: 0 };
    const clients = Array.from({ length: 50 }, () => keepAliveClient(port, path, tally));
    while (tally.answered < 100) await sleep(20);
    const startedAt = performance.now();
    const before = tally.answered;
    const drained = server.drain();
    await sleep(50);
    expect((await fetch(`http://127.0.0.1:${port}/toys/newest`)).headers.get('connection')).toBe('close');
    await drained;
    const durationMs = performance.now() - startedAt;
    await Promise.all(clients);
    expect(tally).toEqual({ answered: expect.any(Number), lost: 0, left: 50 });
    expect(tally.answered).toBeGreaterThan(before);
    expect(durationMs).toBeGreaterThan(DRAIN_DELAY_MS - 10);
    // Far less than the keep-alive time of 65 s.
    expect(durationMs).toBeLessThan(10_000);
  });

  it('answers a keep-alive client one more time after the listener has closed, and refuses new connections', async () => {
    const { server, port, seen } = await startToyService();
    const slow = connect(port, '127.0.0.1');
    const slowAnswer = oneAnswer(slow, 'GET /campaigns/a/slow?forMs=600 HTTP/1.1\r\nHost: a\r\n\r\n');
    const idle = connect(port, '127.0.0.1');
    const quick = 'GET /toys/newest HTTP/1.1\r\nHost: a\r\n\r\n';
    await oneAnswer(idle, quick);
    while (seen.length === 0) await sleep(10);
    const drained = server.drain();
    const isRefused = () =>
      fetch(`http://127.0.0.1:${port}/toys/newest`).then(
        () => false,
        ({ cause }: { cause?: { code?: string } }) => cause?.code === 'ECONNREFUSED',
      );
    while (!(await isRefused())) await sleep(1);
    const [answer] = parseAnswers((await oneAnswer(idle, quick)) ?? '');
    expect([answer?.status, answer?.headers['connection']]).toEqual([200, 'close']);
    expect(parseAnswers((await slowAnswer) ?? '')).toMatchObject([{ status: 200 }]);
    await drained;
  });

  it('waits for an earlier request, and answers it with Connection: close', async () => {
    const { server, port, seen } = await startToyService();
    const socket = connect(port, '127.0.0.1');
    const startedAt = performance.now();
    const answer = oneAnswer(socket, 'GET /campaigns/a/slow?forMs=1200 HTTP/1.1\r\nHost: a\r\n\r\n');
    while (seen.length === 0) await sleep(10);
    await server.drain();
    expect(performance.now() - startedAt).toBeGreaterThan(1_150);
    const [first] = parseAnswers((await answer) ?? '');
    expect([first?.status, first?.headers['connection']]).toEqual([200, 'close']);
  });

  it('answers all pipelined requests of a client', async () => {
    const { server, port, seen } = await startToyService();
    const request = 'GET /campaigns/a/slow?forMs=400 HTTP/1.1\r\nHost: a\r\n\r\n';
    const exchange = rawExchange(port, request.repeat(3), { silenceMs: 2_000 });
    while (seen.length === 0) await sleep(10);
    await server.drain();
    const { answers, reset } = await exchange;
    expect([answers.map(({ status }) => status), reset]).toEqual([[200, 200, 200], false]);
  });
});

describe('the probes', () => {
  let databaseIs: () => Promise<{ ready: boolean; detail?: unknown }>;
  const parts: readonly ReadinessPart[] = [
    { name: 'database', check: () => databaseIs() },
    { name: 'log', check: async () => ({ ready: true, detail: { head: '7' } }) },
  ];
  const ask = async (path: string): Promise<readonly [number, unknown]> => {
    const answer = await fetch(`${toys?.url}${path}`);
    return [answer.status, await answer.json()];
  };

  it('ready, given that every part is ready', async () => {
    databaseIs = async () => ({ ready: true });
    toys = await startToyService({ parts });
    expect(await ask('/ready')).toEqual([
      200,
      { status: 'ready', parts: { database: { ready: true }, log: { ready: true } } },
    ]);
    expect(await ask('/health')).toEqual([
      200,
      {
        status: 'ok',
        version: '1.2.3',
        services: { eventStore: 'not_used', readModel: 'ok', queue: 'not_used' },
      },
    ]);
    expect(await ask('/live')).toEqual([200, { status: 'ok' }]);
    toys.stopping = true;
    expect((await ask('/ready'))[0]).toBe(503);
    expect(await ask('/health')).toMatchObject([200, { status: 'stopping' }]);
    expect(await ask('/live')).toEqual([200, { status: 'stopping' }]);
    expect(toys.check.problems).toEqual([]);
  });

  it.each([
    ['is not ready', async () => ({ ready: false, detail: 'not migrated yet' }), 'not migrated yet'],
    ['throws', () => Promise.reject(new Error('password is hunter2')), 'cannot be reached'],
    ['never answers', () => new Promise<never>(() => undefined), 'no answer within 1000 ms'],
  ])('not ready, given a part that %s', async (_what, check, detail) => {
    databaseIs = check;
    toys = await startToyService({ parts });
    expect(await ask('/ready')).toEqual([
      503,
      { status: 'not_ready', parts: { database: { ready: false }, log: { ready: true } } },
    ]);
    expect((await createReadiness(parts, 1_000)()).parts['database']).toEqual({ ready: false, detail });
    expect(toys.check.problems).toEqual([]);
  });

  it.each(['database', 'eventStore'])(
    'not healthy, given that a required part is not ready: %s',
    async (name) => {
      toys = await startToyService({ parts: [{ name, check: async () => ({ ready: false }) }] });
      expect(await ask('/health')).toMatchObject([503, { status: 'unavailable' }]);
      expect(toys.check.problems).toEqual([]);
    },
  );

  it('healthy, given that only the queue is unavailable', async () => {
    const queue = { name: 'queue', optional: true, check: async () => ({ ready: false }) };
    toys = await startToyService({ parts: [queue] });
    expect(await ask('/health')).toMatchObject([200, { status: 'ok', services: { queue: 'unavailable' } }]);
  });

  it('alive, given a store that hangs; concurrent health requests share one check', async () => {
    let asked = 0;
    databaseIs = () => {
      asked += 1;
      return new Promise<never>(() => undefined);
    };
    toys = await startToyService({ parts });
    const answers = await Promise.all(Array.from({ length: 20 }, () => ask('/health')));
    expect(answers[0]).toMatchObject([503, { services: { readModel: 'unavailable' } }]);
    expect(asked).toBeLessThan(5);
    asked = 0;
    expect(await ask('/live')).toEqual([200, { status: 'ok' }]);
    expect(asked).toBe(0);
  });

  it('metrics count requests by route, method and status', async () => {
    toys = await startToyService();
    await (await fetch(`${toys.url}/toys/newest`)).text();
    await (await fetch(`${toys.url}/wp-admin`)).text();
    const answer = await fetch(`${toys.url}/metrics`);
    const text = await answer.text();
    expect(answer.headers.get('content-type')).toMatch(/^text\/plain/);
    expect(text).toContain(
      'http_server_request_duration_seconds_count{http_route="/toys/newest",http_request_method="GET",http_response_status_code="200"} 1',
    );
    expect(text).toContain(
      'http_server_request_duration_seconds_count{http_route="unknown",http_request_method="GET",http_response_status_code="404"} 1',
    );
    expect(text).not.toContain('wp-admin');
  });
});
