import { Writable } from 'node:stream';
import { afterAll, beforeAll, expect, it } from '@jest/globals';
import { pino } from 'pino';
import { addressOf, startTcpProxy, throughProxy, type TcpProxy } from '../faults/kit/tcp-proxy.ts';
import { startRunningService, type RunningService, type TestAccount } from '../support/running-service.ts';
import { describeWithRedis } from '../support/describe-with-redis.ts';
import { createTestRedis } from '../support/test-redis.ts';
import { until } from '../support/until.ts';

const describeRedis = await describeWithRedis();
const testRedis = createTestRedis();

/** The limits may take 200 ms; the rest is for the request itself on a busy machine. */
const ANSWER_MS_MAX = 1_500;

describeRedis('without its Redis', () => {
  let proxy: TcpProxy;
  let service: RunningService;
  let account: TestAccount;
  const lines: Record<string, unknown>[] = [];
  beforeAll(async () => {
    proxy = await startTcpProxy(addressOf(testRedis.url));
    const log = pino(
      new Writable({
        write: (chunk: Buffer, _encoding, done) => {
          lines.push(JSON.parse(chunk.toString()) as Record<string, unknown>);
          done();
        },
      }),
    );
    service = await startRunningService(
      {
        REDIS_URL: throughProxy(testRedis.url, proxy),
        REDIS_KEY_PREFIX: testRedis.keyPrefix,
        LIMIT_CREDENTIAL: '100/600',
        LIMIT_ADDRESS: '100/600',
        LIMIT_UNVERIFIED: '30/600',
      },
      log,
    );
    account = await service.openAccount();
    await counted('together');
  });
  afterAll(async () => {
    await service.stop();
    await proxy.close();
    await testRedis.clear();
  });

  const rateLimits = async (): Promise<unknown> => {
    const answer = await fetch(`${service.operatorUrl}/ready`);
    const { status, parts } = (await answer.json()) as { status: string; parts: Record<string, unknown> };
    return { status, ...(parts['rateLimits'] as object) };
  };
  const counted = (how: string): Promise<number> =>
    until(async () => JSON.stringify(await rateLimits()).includes(`"${how}"`));
  const fallbacks = async (): Promise<number> => {
    const text = await service.metrics();
    return Number(/^exchange_rate_limit_fallbacks_total (\d+)/m.exec(text)?.[1]);
  };
  /** Sends requests one after the other and checks their durations. */
  const statusesOf = async (key: string, times: number): Promise<readonly number[]> => {
    const statuses: number[] = [];
    for (let n = 0; n < times; n++) {
      const startedAt = performance.now();
      const answer = await fetch(`${service.baseUrl}/api/v2/buyer/advertisers`, {
        headers: { Authorization: `Bearer ${key}` },
      });
      await answer.arrayBuffer();
      expect(performance.now() - startedAt).toBeLessThan(ANSWER_MS_MAX);
      statuses.push(answer.status);
    }
    return statuses;
  };
  const all = (times: number, status: number): readonly number[] =>
    Array.from({ length: times }, () => status);

  it('given Redis, then the service is ready and reports the store and its eviction policy', async () => {
    await until(async () => JSON.stringify(await rateLimits()).includes('noeviction'));
    expect(await rateLimits()).toEqual({
      status: 'ready',
      ready: true,
      detail: { store: 'redis', evictionPolicy: 'noeviction', counted: 'together' },
    });
    expect(await fallbacks()).toBe(0);
  });

  it.each(['stalled', 'unavailable'])(
    'given that Redis is %s, then limits hold and requests are answered in time',
    async (how) => {
      const { apiKey } = await service.openAccount();
      expect(await statusesOf(apiKey, 3)).toEqual(all(3, 200));
      if (how === 'stalled') proxy.freeze();
      else proxy.down();
      expect(await statusesOf(apiKey, 101)).toEqual([...all(100, 200), 429]);
      await counted('by each process');
      expect(await rateLimits()).toMatchObject({ status: 'ready', ready: true });
      expect(await fallbacks()).toBeGreaterThan(90);
      if (how === 'stalled') proxy.flow();
      else proxy.up();
      await counted('together');
    },
    60_000,
  );

  it('given no Redis, then the limit of 30 failed credentials holds too', async () => {
    expect(await statusesOf(account.apiKey, 1)).toEqual([200]);
    proxy.down();
    expect(await statusesOf('bad-key', 32)).toEqual([...all(30, 401), 429, 429]);
    const fresh = await service.openAccount();
    expect(await statusesOf(fresh.apiKey, 2)).toEqual([429, 429]);
    expect(await statusesOf(account.apiKey, 1)).toEqual([200]);
    proxy.up();
    await counted('together');
  });

  it('the log reports it at most once a minute, without the address of Redis', () => {
    const reports = lines.filter(({ msg }) => String(msg).includes('rate limits are unavailable'));
    const times = reports.map(({ time }) => Number(time));
    expect(times.length).toBeGreaterThan(0);
    times.slice(1).forEach((time, n) => expect(time - (times[n] ?? 0)).toBeGreaterThan(59_000));
    expect(JSON.stringify(reports)).not.toContain('redis://');
  });
});
