import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { afterAll, beforeAll, expect, it } from '@jest/globals';
import { sleep } from '../../shared/async/backoff.ts';
import { describeWithHaproxy, startHaproxy, type Haproxy } from '../support/haproxy.ts';
import { startRunningService, type RunningService, type TestAccount } from '../support/running-service.ts';
import { freePort } from '../support/free-port.ts';
import { framesOf } from '../support/sse.ts';
import { until } from '../support/until.ts';

const IDLE_SECONDS = 30;

describeWithHaproxy(
  `curl through haproxy, which cuts connections that are silent for ${IDLE_SECONDS} s`,
  () => {
    let service: RunningService;
    let account: TestAccount;
    let haproxy: Haproxy;
    const programs: ChildProcess[] = [];
    beforeAll(async () => {
      service = await startRunningService();
      account = await service.openAccount();
      haproxy = await startHaproxy(service.port, IDLE_SECONDS);
    }, 60_000);
    afterAll(async () => {
      for (const program of programs) program.kill();
      await haproxy.stop();
      await service.stop();
    }, 60_000);

    const curl = (path: string) => {
      const program = spawn('curl', [
        '-sSNi',
        '-H',
        `Authorization: Bearer ${account.apiKey}`,
        `${haproxy.baseUrl}/api/v2/buyer${path}`,
      ]);
      programs.push(program);
      let text = '';
      program.stdout.on('data', (chunk: Buffer) => (text += chunk.toString()));
      return { program, text: () => text, frames: () => framesOf(text) };
    };
    const create = async (name: string): Promise<void> => {
      expect((await account.api.post('/advertisers', { name })).status).toBe(201);
    };

    it('hides /metrics with an answer in the envelope', async () => {
      const answer = await fetch(`${haproxy.baseUrl}/metrics`);
      expect([answer.status, answer.headers.get('content-type'), await answer.json()]).toEqual([
        404,
        'application/json; charset=utf-8',
        { data: null, error: { code: 'NOT_FOUND', message: expect.any(String) } },
      ]);
    });

    it('a quiet stream stays open, and each event arrives at once', async () => {
      const { program, text, frames } = curl('/realtime');
      await until(async () => frames().length === 1);
      await create('Before');
      await until(async () => frames().length === 2);
      await sleep((IDLE_SECONDS + 8) * 1_000);
      expect([program.exitCode, text().split('\n:\n').length - 1]).toEqual([null, 2]);
      const startMs = performance.now();
      await create('After');
      await until(async () => frames().length === 3);
      expect(performance.now() - startMs).toBeLessThan(2_000);
      expect(frames().map(({ event }) => event)).toEqual([
        'ready',
        'advertiser.created',
        'advertiser.created',
      ]);
      expect(text()).toMatch(/^HTTP\/1\.1 200 OK\r\n/);
    }, 90_000);

    it('when curl goes away, the stream ends behind the proxy, too', async () => {
      const { program, frames } = curl('/realtime');
      await until(async () => frames().length === 1);
      const open = async () =>
        (await service.pool.query<{ stream: string }>('select stream from realtime_leases')).rows.length;
      const before = await open();
      program.kill();
      await until(async () => (await open()) === before - 1);
    }, 30_000);

    it('a graceful end says goodbye to the client', async () => {
      const { program, frames } = curl('/realtime');
      await until(async () => frames().length === 1);
      const ended = once(program, 'exit');
      await service.end();
      await ended;
      expect(frames().at(-1)).toEqual({ event: 'bye', data: '{"reason":"shutdown"}' });
      expect(program.exitCode).toBe(0);
    }, 30_000);
  },
);

describeWithHaproxy('haproxy without a process of the service', () => {
  it('answers in the envelope', async () => {
    const haproxy = await startHaproxy(await freePort(), 5, 503);
    try {
      const away = await fetch(`${haproxy.baseUrl}/api/v2/buyer/advertisers`);
      expect([away.status, away.headers.get('retry-after')]).toEqual([503, '1']);
      expect(await away.json()).toEqual({
        data: null,
        error: { code: 'SERVICE_UNAVAILABLE', message: expect.any(String) },
      });
    } finally {
      await haproxy.stop();
    }
  });
});
