import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import type { AdvertiserResource } from '../../domain/advertisers/resource.ts';
import type { ApiAnswer } from '../support/api-client.ts';
import { startRunningService, type RunningService, type TestAccount } from '../support/running-service.ts';

/** The published limits on the real routes. `http-limits.e2e.test.ts` tests where each request is counted. */

let service: RunningService;
beforeAll(async () => {
  // The default settings, but with windows that are longer than these tests.
  service = await startRunningService({
    LIMIT_CREDENTIAL: '100/600',
    LIMIT_ADDRESS: '100/600',
    LIMIT_UNVERIFIED: '30/600',
  });
});
afterAll(() => service.stop());

const remaining = ({ headers }: Pick<ApiAnswer<unknown>, 'headers'>): number =>
  Number(headers.get('ratelimit-remaining') ?? NaN);

const fallbacks = async (): Promise<number> => {
  const text = await service.metrics();
  return Number(/^exchange_rate_limit_fallbacks_total (\d+)$/m.exec(text)?.[1]);
};

/**
 * Runs `ask` with a new account, again if the process counted requests by itself: on a busy machine the shared
 * counters may take longer than a request waits.
 */
const countedTogether = async <T>(ask: (account: TestAccount) => Promise<T>): Promise<T> => {
  for (let tries = 1; ; tries += 1) {
    const before = await fallbacks();
    const answers = await ask(await service.openAccount());
    if ((await fallbacks()) === before || tries === 10) return answers;
  }
};

describe('an account', () => {
  const all = async (account: TestAccount): Promise<readonly ApiAnswer<unknown>[]> => {
    const key = { 'Idempotency-Key': 'rate-limits-0001' };
    const create = () => account.api.post<AdvertiserResource>('/advertisers', { name: 'Acme' }, key);
    const first = await create();
    const one = `/advertisers/${first.body.data.id}`;
    return [
      first,
      await create(),
      await account.api.get('/advertisers'),
      await account.api.get(one),
      await account.api.put(one, { name: '' }),
      await account.api.get('/advertisers/2147483647'),
      await account.api.delete(one),
      await account.api.post(`${one}/restore`),
      await account.api.post('/advertisers', '{'),
      await account.api.post('/advertisers', { name: 'Other' }, key),
    ];
  };

  it('gets the number of remaining requests in every answer', async () => {
    const answers = await countedTogether(all);
    const [first, replay] = answers;
    expect([replay?.status, replay?.headers.get('idempotent-replayed'), replay?.text]).toEqual([
      201,
      'true',
      first?.text,
    ]);
    expect(answers.map(({ status }) => status)).toEqual([201, 201, 200, 200, 400, 404, 204, 200, 400, 409]);
    expect(answers.map(remaining)).toEqual([99, 98, 97, 96, 95, 94, 93, 92, 91, 90]);
    for (const { headers } of answers) {
      expect(headers.get('ratelimit-limit')).toBe('100');
      expect(Number(headers.get('ratelimit-reset'))).toBeGreaterThan(500);
    }
  });

  it('is refused above its limit without an effect; another key is not', async () => {
    const [refused, written] = await countedTogether(async ({ api }) => {
      while (remaining(await api.get('/advertisers')) > 0);
      const before = await service.store.head();
      const answer = await api.post('/advertisers', { name: 'Too much' });
      return [answer, (await service.store.head()) !== before] as const;
    });
    expect([refused.status, refused.body, written]).toMatchObject([
      429,
      { data: null, error: { code: 'RATE_LIMITED' } },
      false,
    ]);
    expect(refused.headers.get('retry-after')).toBe(refused.headers.get('ratelimit-reset'));
    expect(remaining(await countedTogether(({ api }) => api.get('/advertisers')))).toBe(99);
  });

  it('does not use up the anonymous requests of its address', async () => {
    const answer = await fetch(`${service.baseUrl}/api/v2/buyer/nothing`);
    expect([answer.status, remaining(answer)]).toEqual([404, 99]);
  });
});

describe('operators and tools', () => {
  it.each(['/health', '/ready', '/metrics', '/openapi.json', '/.well-known/any', '/assets/any'])(
    'have no limit on %s',
    async (path) => {
      for (let n = 0; n < 110; n++) {
        const answer = await fetch(service.baseUrl + path);
        await answer.arrayBuffer();
        expect([answer.status === 429, answer.headers.get('ratelimit-limit')]).toEqual([false, null]);
      }
    },
  );
});

describe('the store of rate limits for several processes', () => {
  let several: RunningService;
  beforeAll(async () => {
    several = await startRunningService({ LIMIT_NODES: '2', LIMIT_UNVERIFIED: '1000/600' });
  });
  afterAll(() => several.stop());

  /** Kinds of subjects that have a window. */
  const kinds = async (): Promise<readonly string[]> => {
    if (several.redis !== undefined) {
      // The store also contains jobs.
      const windows = (await several.redis.entries()).map((entry) => entry.split(':'));
      return windows.filter(([of = '']) => of.endsWith('rate')).map(([, kind = '']) => kind);
    }
    const { rows } = await several.pool.query<{ kind: string }>(
      `select split_part(key, ':', 1) as kind from rate_limits`,
    );
    return rows.map(({ kind }) => kind);
  };

  it('has windows for verified credentials and for addresses only', async () => {
    const { api } = await several.openAccount();
    await api.get('/advertisers');
    await fetch(`${several.baseUrl}/api/v2/buyer/nothing`);
    const before = await kinds();
    expect(new Set(before)).toEqual(new Set(['address', 'credential', 'verified']));
    for (let n = 0; n < 10; n++) {
      await fetch(`${several.baseUrl}/api/v2/buyer/advertisers`, {
        headers: { Authorization: `Bearer bx_${String(n).padStart(16, '0')}_${'b'.repeat(43)}` },
      });
    }
    expect((await kinds()).toSorted()).toEqual([...before, 'unverified'].toSorted());
  });
});
