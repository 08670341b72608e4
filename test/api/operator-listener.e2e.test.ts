import { request, type IncomingHttpHeaders } from 'node:http';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { Registry } from 'prom-client';
import { createLog } from '../../app/log.ts';
import { createLogLevel } from '../../shared/operator/log-level.ts';
import { startOperatorListener } from '../../shared/operator/operator-listener.ts';
import { openQueue } from '../../shared/queue/bullmq-queue.ts';
import { openJobBackend } from '../../shared/queue/running-jobs.ts';
import { startRunningService, type RunningService } from '../support/running-service.ts';

/** What operators may ask of one process, at the address that is not for clients. */

const log = createLog('silent');
let service: RunningService;
beforeAll(async () => {
  service = await startRunningService({}, log);
});
afterAll(() => service.stop());

const call = (path: string, init?: RequestInit): Promise<Response> => fetch(service.operatorUrl + path, init);

/** `fetch` sets these headers itself. */
const statusWith = (path: string, headers: IncomingHttpHeaders): Promise<number> =>
  new Promise((resolve, reject) => {
    request(service.operatorUrl + path, { headers }, (response) => {
      response.resume();
      resolve(response.statusCode ?? 0);
    })
      .once('error', reject)
      .end();
  });

describe('the listener for operators', () => {
  it('is another port, on loopback, that lists what it answers', async () => {
    const answer = await call('/');
    expect(new URL(service.operatorUrl).hostname).toBe('127.0.0.1');
    expect(service.operatorUrl).not.toBe(service.baseUrl);
    expect([answer.status, await answer.text()]).toEqual([200, expect.stringContaining('/metrics')]);
    expect((await call('/api/v2/buyer/advertisers')).status).toBe(404);
  });

  it('takes another port if its own is taken, unless the operator chose it', async () => {
    const start = (anyPort: boolean) =>
      startOperatorListener({
        host: '127.0.0.1',
        port: Number(new URL(service.operatorUrl).port),
        anyPort,
        registry: new Registry(),
        logLevel: createLogLevel(createLog('silent')),
        readiness: async () => ({ ready: true, parts: {} }),
        board: undefined,
        log,
      });
    await expect(start(false)).rejects.toThrow(/^Port \d+ of 127.0.0.1 is in use .* set OPERATOR_PORT/);
    const other = await start(true);
    expect(other.url).not.toBe(service.operatorUrl);
    expect((await fetch(`${other.url}/queues`)).status).toBe(404);
    await other.close();
  });

  it('refuses web pages of other sites, also if their name resolves to this address', async () => {
    expect(await statusWith('/metrics', { 'sec-fetch-site': 'cross-site' })).toBe(403);
    expect(await statusWith('/metrics', { 'sec-fetch-site': 'same-site' })).toBe(403);
    expect(await statusWith('/metrics', { host: 'rebound.example' })).toBe(403);
    expect(await statusWith('/metrics', { host: 'localhost:3001', 'sec-fetch-site': 'none' })).toBe(200);
    expect(await statusWith('/metrics', { host: '[::1]:3001' })).toBe(200);
  });
});

describe('profiles', () => {
  const post = (path: string): Promise<Response> => call(path, { method: 'POST' });
  const busy = async (signal: AbortSignal): Promise<void> => {
    const kept: string[] = [];
    while (!signal.aborted) {
      kept.push(JSON.stringify(Array.from({ length: 5_000 }, (_, n) => ({ n }))));
      await sleep(1);
    }
  };

  it.each([
    ['cpu', 'nodes', 'cpuprofile'],
    ['heap', 'head', 'heapprofile'],
  ])('of the %s are files that developer tools open', async (kind, member, ending) => {
    const over = new AbortController();
    const work = busy(over.signal);
    const answer = await post(`/profile/${kind}?seconds=0.3`);
    over.abort();
    await work;
    expect([answer.status, answer.headers.get('content-disposition')]).toEqual([
      200,
      expect.stringMatching(new RegExp(`\\.${ending}$`)),
    ]);
    const text = await answer.text();
    expect(Object.keys(JSON.parse(text) as object)).toContain(member);
    expect(text).toContain('"functionName":"busy"');
  });

  it('are taken one at a time, by POST, for five minutes at most', async () => {
    const first = post('/profile/cpu?seconds=0.5');
    await sleep(100);
    expect((await post('/profile/heap?seconds=0.1')).status).toBe(409);
    expect((await first).status).toBe(200);
    for (const path of ['/profile/disk', '/profile/cpu?seconds=301', '/profile/cpu?seconds=x']) {
      expect([path, (await post(path)).status]).toEqual([path, 400]);
    }
    expect((await call('/profile/cpu')).status).toBe(404);
  });
});

describe('the level of the log', () => {
  const put = (change: unknown): Promise<Response> =>
    call('/log-level', { method: 'PUT', body: JSON.stringify(change) });

  it('changes for a time, also of the logs that parts of the service derive', async () => {
    expect(await (await call('/log-level')).json()).toEqual({ level: 'silent' });
    const answer = await put({ level: 'fatal', seconds: 60 });
    expect([answer.status, await answer.json()]).toEqual([
      200,
      { level: 'fatal', until: expect.stringMatching(/Z$/) },
    ]);
    expect(log.level).toBe('fatal');
    expect(await (await put({ level: 'silent' })).json()).toEqual({ level: 'silent' });
    expect(log.level).toBe('silent');
  });

  it('is refused if it is unknown, or without an end', async () => {
    for (const wrong of [
      { level: 'verbose' },
      { level: 'debug', seconds: 0 },
      {},
      { level: 'debug', x: 1 },
    ]) {
      expect([wrong, (await put(wrong)).status]).toEqual([wrong, 400]);
    }
    expect(log.level).toBe('silent');
  });
});

describe('the board of the job queues', () => {
  it('shows jobs without their data, and changes nothing', async () => {
    const { databaseUrl, stores, redis } = service;
    const backend = await openJobBackend(
      { databaseUrl, redisUrl: stores['REDIS_URL'], redisKeyPrefix: redis?.keyPrefix ?? '' },
      log,
    );
    const queue = openQueue('mail', backend, log);
    await queue.add('mail', { to: 'ada@example.test' }, { jobId: 'much-later', delay: 3_600_000 });
    expect((await call('/queues')).headers.get('content-type')).toMatch(/^text\/html/);

    const answer = await call('/queues/api/queues?activeQueue=mail&status=delayed&page=1&jobsPerPage=10');
    const text = await answer.text();
    const { queues } = JSON.parse(text) as {
      queues: readonly { name: string; readOnlyMode: boolean; jobs: readonly Record<string, unknown>[] }[];
    };
    expect(queues.map(({ name }) => name)).toEqual(expect.arrayContaining(['mail', 'syndication']));
    expect(queues.every(({ readOnlyMode }) => readOnlyMode)).toBe(true);
    expect(queues.find(({ name }) => name === 'mail')?.jobs).toEqual([
      expect.objectContaining({ id: 'much-later', data: 'hidden' }),
    ]);
    const one = await (await call('/queues/api/queues/mail/much-later')).text();
    expect(one).toContain('much-later');
    expect(text + one).not.toContain('ada@example.test');

    for (const [method, path] of [
      ['PUT', '/queues/api/queues/mail/much-later/promote'],
      ['PUT', '/queues/api/queues/pause'],
      ['POST', '/queues/api/queues/mail/add'],
    ] as const) {
      expect([path, (await call(path, { method })).status]).toEqual([path, 405]);
    }
    expect(await queue.getJobState('much-later')).toBe('delayed');
    await queue.remove('much-later');
    await queue.close();
    await backend.close();
  });
});
