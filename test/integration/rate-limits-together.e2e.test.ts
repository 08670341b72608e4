import { connect, type Socket } from 'node:net';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { createAccount, startService, type ServiceProcess } from '../bench/service-process.ts';
import { sleep } from '../../shared/async/backoff.ts';
import { parseAnswers, type RawAnswer } from '../support/raw-http.ts';
import { createTestDatabase, type TestDatabase } from '../support/test-database.ts';
import { describeWithRedis } from '../support/describe-with-redis.ts';
import { createTestRedis } from '../support/test-redis.ts';

const CONNECTIONS = { most: 50, least: 8 };
const REQUESTS = 300;
const WINDOW_SECONDS = 5;
const UNVERIFIED_SECONDS = 60;
const path = '/api/v2/buyer/advertisers';

const testRedis = createTestRedis();
const stores = [
  ['Postgres', describe, {}],
  ['Redis', await describeWithRedis(), { REDIS_URL: testRedis.url, REDIS_KEY_PREFIX: testRedis.keyPrefix }],
] as const;
afterAll(() => testRedis.clear());

/** Sends `REQUESTS` requests over the connections, spread over the processes. */
const burst = async (
  services: readonly ServiceProcess[],
  key: string,
  connections: number,
): Promise<readonly RawAnswer[]> => {
  const answers: RawAnswer[] = [];
  let sent = 0;
  await Promise.all(
    Array.from({ length: connections }, async (_, n) => {
      const socket = connect(services[n % services.length]?.port ?? 0, '127.0.0.1');
      while (sent < REQUESTS) {
        sent += 1;
        answers.push(await ask(socket, key));
      }
      socket.destroy();
    }),
  );
  return answers;
};

const ask = (socket: Socket, key: string): Promise<RawAnswer> =>
  new Promise((resolve, reject) => {
    let text = '';
    const onData = (chunk: Buffer): void => {
      text += chunk.toString('latin1');
      const head = text.indexOf('\r\n\r\n');
      const length = Number(/content-length: (\d+)/i.exec(text)?.[1]);
      if (head < 0 || text.length < head + 4 + length) return;
      socket.off('data', onData).off('error', reject);
      const [answer] = parseAnswers(text);
      if (answer !== undefined) resolve(answer);
    };
    socket.on('data', onData).once('error', reject);
    socket.write(`GET ${path} HTTP/1.1\r\nHost: a\r\nAuthorization: Bearer ${key}\r\n\r\n`);
  });

describe.each(stores)('two processes with counters in %s', (_name, describeStore, settings) => {
  describeStore('count as one', () => {
    let database: TestDatabase;
    let services: ServiceProcess[];
    let environment: Record<string, string>;
    beforeAll(async () => {
      database = await createTestDatabase();
      environment = {
        DATABASE_URL: database.url,
        NODE_ENV: 'test',
        LIMIT_NODES: '2',
        LIMIT_CREDENTIAL: `100/${WINDOW_SECONDS}`,
        LIMIT_UNVERIFIED: `30/${UNVERIFIED_SECONDS}`,
        ...settings,
      };
      services = await Promise.all([startService(environment), startService(environment)]);
    });
    afterAll(async () => {
      await Promise.all(services.map((service) => service.kill()));
      await database.drop();
    });

    const newKey = async (): Promise<string> => (await createAccount(environment)).apiKey;
    const get = async (service: ServiceProcess | undefined, key: string): Promise<Response> => {
      const answer = await fetch(`http://127.0.0.1:${service?.port}${path}`, {
        headers: { Authorization: `Bearer ${key}` },
      });
      await answer.clone().arrayBuffer();
      return answer;
    };

    /** How often a process counted by itself because the shared counters did not answer in time. */
    const fallbacks = async (): Promise<number> => {
      const counts = services.map(async (service) => {
        const metrics = await service.metrics();
        return Number(/^exchange_rate_limit_fallbacks_total (\d+)$/m.exec(metrics)?.[1]);
      });
      return (await Promise.all(counts)).reduce((sum, count) => sum + count, 0);
    };

    /** Repeats until the shared counters answer in time, because a new process may be slow. */
    const statusCountedTogether = async (service: ServiceProcess): Promise<number> => {
      for (let tries = 1; ; tries += 1) {
        const before = await fallbacks();
        const { status } = await get(service, 'bad-key');
        if ((await fallbacks()) === before) return status;
        expect(tries).toBeLessThan(20);
        await sleep(500);
      }
    };

    it('and report it in /ready', async () => {
      for (const { operatorUrl } of services) {
        const answer = await fetch(`${operatorUrl}/ready`);
        const { parts } = (await answer.json()) as { parts: Record<string, unknown> };
        expect(parts['rateLimits']).toMatchObject({ ready: true, detail: { counted: 'together' } });
      }
    });

    it(`and allow exactly 100 of ${REQUESTS} requests that are sent together in each window`, async () => {
      let key = await newKey();
      let stalls = 0;
      let connections = CONNECTIONS.most;
      for (let windows = 0; windows < 2;) {
        const before = await fallbacks();
        const answers = await burst(services, key, connections);
        // On a busy machine the counters may answer too late, so that each process counts by itself: repeat
        // with fewer requests at once.
        if ((await fallbacks()) !== before) {
          expect((stalls += 1)).toBeLessThan(20);
          connections = Math.max(CONNECTIONS.least, Math.ceil(connections * 0.7));
          key = await newKey();
          windows = 0;
          continue;
        }
        windows += 1;
        const passed = answers.filter(({ status }) => status === 200);
        const refused = answers.filter(({ status }) => status === 429);
        expect([passed.length, refused.length]).toEqual([100, REQUESTS - 100]);
        const remaining = passed.map(({ headers }) => Number(headers['ratelimit-remaining']));
        expect(remaining.sort((a, b) => b - a)).toEqual(Array.from({ length: 100 }, (_, n) => 99 - n));
        for (const { headers } of refused) {
          expect(headers).toMatchObject({ 'ratelimit-limit': '100', 'ratelimit-remaining': '0' });
          expect(headers['retry-after']).toBe(headers['ratelimit-reset']);
        }
        const resets = answers.map(({ headers }) => Number(headers['ratelimit-reset']));
        expect(Math.min(...resets)).toBeGreaterThan(0);
        expect(Math.max(...resets)).toBeLessThanOrEqual(WINDOW_SECONDS);
        console.log(
          `${connections} connections on two processes, window ${windows}: ${passed.length} of ${REQUESTS} passed`,
        );
        if (windows < 2) await sleep(Math.min(...resets) * 1_000 + 200);
      }
    }, 120_000);

    it('and refuse new keys of an address after 30 failures on both together, but not keys that either verified', async () => {
      const [known, fresh] = [await newKey(), await newKey()];
      const failOften = async () => {
        const first = await get(services[0], known);
        const statuses: number[] = [];
        for (let n = 0; n < 32; n++) statuses.push((await get(services[n % 2], `bad-key-${n}`)).status);
        const afterwards: (readonly [fresh: Response, known: Response])[] = [];
        for (const service of services)
          afterwards.push([await get(service, fresh), await get(service, known)]);
        return { first, statuses, afterwards };
      };
      let before = await fallbacks();
      let answers = await failOften();
      // As above: repeat in another window.
      for (let stalls = 0; stalls < 3 && (await fallbacks()) !== before; stalls += 1) {
        await sleep(UNVERIFIED_SECONDS * 1_000 + 1_000);
        before = await fallbacks();
        answers = await failOften();
      }
      expect(answers.first.status).toBe(200);
      expect(answers.statuses).toEqual([...Array.from({ length: 30 }, () => 401), 429, 429]);
      for (const [answer, { status }] of answers.afterwards) {
        expect([answer.status, await answer.json()]).toMatchObject([
          429,
          { error: { code: 'RATE_LIMITED', details: { reason: 'unverified_credentials' } } },
        ]);
        expect(status).toBe(200);
      }
    }, 300_000);

    it('and keep their counts when one of them is killed', async () => {
      const before = await get(services[0], 'bad-key');
      expect(before.status).toBe(429);
      await services[0]?.kill();
      services[0] = await startService(environment);
      expect(await statusCountedTogether(services[0])).toBe(429);
    });
  });
});
