import { afterAll, afterEach, describe, expect, it, jest } from '@jest/globals';
import { route, type Route } from '../../shared/http/route.ts';
import { specifiedLimits, type RequestLimit } from '../../shared/limits/limits.ts';
import {
  goodKey,
  revokedKeys,
  startToyService,
  type ToyOptions,
  type ToyService,
} from '../support/toy-service.ts';

/** The specification's limits, at the kernel: which request is counted where, and what its answer says. */

let toys: ToyService | undefined;
let now = 0;
const drained: Promise<void>[] = [];
afterEach(() => {
  if (toys !== undefined) drained.push(toys.server.drain());
  toys = undefined;
  revokedKeys.clear();
  jest.restoreAllMocks();
});
afterAll(() => Promise.all(drained));

const start = async (options: ToyOptions = {}): Promise<void> => {
  now = 1_000_000;
  jest.spyOn(Date, 'now').mockImplementation(() => now);
  toys = await startToyService({ limits: specifiedLimits, ...options });
};

interface Call {
  readonly key?: string;
  readonly method?: string;
  /** Believed where one hop is trusted. */
  readonly from?: string;
}

const call = async (path: string, { key, method = 'GET', from }: Call = {}): Promise<Response> => {
  const answer = await fetch(`${toys?.url}${path}`, {
    method,
    headers: {
      ...(key === undefined ? {} : { Authorization: `Bearer ${key}` }),
      ...(from === undefined ? {} : { 'X-Forwarded-For': from }),
    },
  });
  await answer.clone().arrayBuffer();
  return answer;
};

/** Limit, remaining, reset, retry after; null for those that are not there. */
const standing = ({ headers }: Response) => [
  headers.get('ratelimit-limit'),
  headers.get('ratelimit-remaining'),
  headers.get('ratelimit-reset'),
  headers.get('retry-after'),
];
const uncounted = [null, null, null, null];
const inTurn = async (times: number, of: () => Promise<Response>): Promise<readonly number[]> => {
  const statuses: number[] = [];
  for (let n = 0; n < times; n++) statuses.push((await of()).status);
  return statuses;
};
const all = (times: number, status: number): readonly number[] => Array.from({ length: times }, () => status);

describe('the table of limits', () => {
  const countedIn = (limit: RequestLimit): Route =>
    route({
      method: 'post',
      path: `/counted/${limit}`,
      operationId: `count-${limit}`,
      summary: 'Counted',
      tag: 'Toys',
      access: limit === 'credential' ? 'exchange:read' : 'public',
      limit,
      responses: { 204: { description: 'Done' } },
      handle: async () => ({ status: 204 }),
    });
  const requestLimits = Object.keys(specifiedLimits).filter(
    (name) => name !== 'unverified',
  ) as RequestLimit[];

  it("is the specification's", () => {
    expect(specifiedLimits).toEqual({
      credential: { requests: 100, windowSeconds: 60 },
      address: { requests: 100, windowSeconds: 60 },
      unverified: { requests: 30, windowSeconds: 60 },
    });
  });

  it.each(requestLimits)(
    '%s: every request up to its limit, none above, all again in the next window',
    async (name) => {
      await start({ routes: [countedIn(name)] });
      const { requests, windowSeconds } = specifiedLimits[name];
      const post = () => call(`/counted/${name}`, { method: 'POST', key: goodKey });
      for (let n = 1; n <= requests; n++) {
        const answer = await post();
        expect([answer.status, standing(answer)]).toEqual([
          204,
          [String(requests), String(requests - n), String(windowSeconds), null],
        ]);
      }
      now += 500;
      const over = await post();
      expect([over.status, standing(over)]).toEqual([
        429,
        [String(requests), '0', String(windowSeconds), String(windowSeconds)],
      ]);
      expect(await over.json()).toEqual({
        data: null,
        error: { code: 'RATE_LIMITED', message: expect.stringContaining(String(requests)) },
      });
      // The very end: what was refused did not move it.
      now += windowSeconds * 1_000 - 501;
      expect(standing(await post())).toEqual([String(requests), '0', '1', '1']);
      now += 1;
      expect([(await post()).status, standing(await post())]).toEqual([
        204,
        [String(requests), String(requests - 2), String(windowSeconds), null],
      ]);
      expect(toys?.check.problems).toEqual([]);
      console.log(`${name}: ${requests} requests in ${windowSeconds} s passed, the next did not`);
    },
  );

  it('each row has a window of its own', async () => {
    await start({ routes: requestLimits.map(countedIn) });
    for (const name of requestLimits) {
      const answer = await call(`/counted/${name}`, { method: 'POST', key: goodKey });
      expect([name, answer.headers.get('ratelimit-remaining')]).toEqual([
        name,
        String(specifiedLimits[name].requests - 1),
      ]);
    }
  });
});

describe('who is counted', () => {
  it('a key by itself, wherever it is used from; others and anonymous calls are not touched', async () => {
    await start({ trustedProxies: { hops: 1 } });
    for (let n = 0; n < 100; n++) await call('/toys/3', { key: 'key-1', from: `10.0.0.${n}` });
    expect((await call('/toys/3', { key: 'key-1', from: '10.0.1.1' })).status).toBe(429);
    expect(standing(await call('/toys/3', { key: 'key-2', from: '10.0.0.1' }))[1]).toBe('99');
    expect(standing(await call('/toys/newest', { from: '10.0.0.1' }))[1]).toBe('99');
  });

  it('an address for all its anonymous calls; its keys are not touched', async () => {
    await start();
    expect(await inTurn(101, () => call('/toys/newest'))).toEqual([...all(100, 200), 429]);
    expect((await call('/toys/newest', { key: goodKey })).status).toBe(429);
    expect((await call('/toys/3')).status).toBe(429);
    expect((await call('/toys/3', { key: goodKey })).status).toBe(200);
  });

  it('an IPv6 network of 64 bits as one, an IPv4 address in either form as one', async () => {
    await start({ trustedProxies: { hops: 1 } });
    const remaining = async (from: string) => standing(await call('/toys/newest', { from }))[1];
    expect(await remaining('2001:db8:1:2::1')).toBe('99');
    expect(await remaining('2001:db8:1:2:ffff::9')).toBe('98');
    expect(await remaining('2001:db8:1:3::1')).toBe('99');
    expect(await remaining('1.2.3.4')).toBe('99');
    expect(await remaining('::ffff:102:304')).toBe('98');
  });

  it('nobody by what X-Forwarded-For says, when no proxy is trusted', async () => {
    await start();
    await call('/toys/newest', { from: '1.2.3.4' });
    expect(standing(await call('/toys/newest', { from: '5.6.7.8' }))[1]).toBe('98');
  });

  it.each([
    ['a request without a credential', '/toys/3', {}, 401],
    ['an unknown path', '/nothing', { key: goodKey }, 404],
    ['an unknown path below /assets, when it is no GET', '/assets/a.png', { method: 'POST' }, 404],
    ['another method', '/toys/3', { method: 'PATCH' }, 405],
    ['a preflight', '/toys/3', { method: 'OPTIONS' }, 204],
    ['a preflight to nowhere', '/nothing', { method: 'OPTIONS' }, 404],
    ['a path that cannot be decoded', '/campaigns/%zz/slow', {}, 400],
  ])('the address for %s', async (_what, path, options, status) => {
    await start();
    const answer = await call(path, options);
    expect([answer.status, standing(answer)]).toEqual([status, ['100', '99', '60', null]]);
    expect(await inTurn(100, () => call(path, options))).toEqual([...all(99, status), 429]);
  });

  it.each([
    '/health',
    '/ready',
    '/metrics',
    '/openapi.json',
    '/.well-known/oauth-protected-resource',
    '/assets/a.png',
  ])('nobody for %s', async (path) => {
    await start();
    await inTurn(101, () => call('/toys/newest'));
    const answer = await call(path);
    expect([answer.status === 429, standing(answer)]).toEqual([false, uncounted]);
  });

  it('nobody for another method of what is not counted', async () => {
    await start();
    const answer = await call('/health', { method: 'OPTIONS' });
    expect([answer.status, standing(answer)]).toEqual([204, uncounted]);
  });

  it('nobody when a credential cannot be looked up', async () => {
    await start();
    const answer = await call('/toys/3', { key: 'broken-store' });
    expect([answer.status, standing(answer)]).toEqual([503, [null, null, null, '1']]);
  });
});

describe('the headers', () => {
  it.each([
    ['a refusal', '/toys/0', 'GET', 400],
    ['a fault', '/failures/bug', 'POST', 500],
    ['a store that is away', '/failures/store', 'POST', 503],
    ['an answer to HEAD', '/toys/3', 'HEAD', 200],
    ['an answer without a body', '/toys/3', 'DELETE', 204],
  ])('are on %s', async (_what, path, method, status) => {
    await start();
    const answer = await call(path, { method, key: goodKey });
    expect([answer.status, standing(answer).slice(0, 3)]).toEqual([status, ['100', '99', '60']]);
  });

  it('round up the seconds that are left', async () => {
    await start();
    await call('/toys/newest');
    const resetAfter = async (ms: number) => {
      now += ms;
      return standing(await call('/toys/newest'))[2];
    };
    expect([await resetAfter(1), await resetAfter(998), await resetAfter(1), await resetAfter(1)]).toEqual([
      '60',
      '60',
      '59',
      '59',
    ]);
    expect(await resetAfter(58_998)).toBe('1');
  });

  it('count down without a gap under parallel requests', async () => {
    await start();
    const answers = await Promise.all(Array.from({ length: 120 }, () => call('/toys/3', { key: goodKey })));
    const remaining = answers
      .filter(({ status }) => status === 200)
      .map((answer) => Number(standing(answer)[1]));
    expect(remaining.sort((a, b) => b - a)).toEqual(Array.from({ length: 100 }, (_, n) => 99 - n));
  });
});

describe('credentials that do not verify', () => {
  const bad = (n: number): Promise<Response> => call('/toys/3', { key: `bad-key-${n}` });
  const fail = async (times: number): Promise<void> => {
    for (let n = 0; n < times; n++) expect((await bad(n)).status).toBe(401);
  };
  const refused = ['30', '0', '60', '60'];

  it('30 in a minute are answered 401, the 31st and all later ones 429 until the window ends', async () => {
    await start();
    for (let n = 1; n <= 30; n++) {
      const answer = await bad(n);
      // What is told is the window of the address.
      expect([answer.status, standing(answer)]).toEqual([401, ['100', String(100 - n), '60', null]]);
    }
    for (let n = 31; n < 40; n++) {
      const answer = await bad(n);
      expect([answer.status, standing(answer)]).toEqual([429, refused]);
      expect(await answer.json()).toMatchObject({
        data: null,
        error: { code: 'RATE_LIMITED', details: { reason: 'unverified_credentials' } },
      });
    }
    now += 59_999;
    expect(standing(await bad(1))).toEqual(['30', '0', '1', '1']);
    now += 1;
    expect((await bad(1)).status).toBe(401);
    expect(toys?.check.problems).toEqual([]);
  });

  it.each([
    [29, 200],
    [30, 429],
    [31, 429],
  ])('after %i of them a key never seen from there is answered %i', async (failures, status) => {
    await start();
    await fail(Math.min(failures, 30));
    if (failures > 30) await bad(0);
    const answer = await call('/toys/3', { key: 'key-1' });
    expect([answer.status, standing(answer)[0]]).toEqual([status, status === 200 ? '100' : '30']);
    // What is refused did not verify there.
    expect((await call('/toys/3', { key: 'key-1' })).status).toBe(status);
    now += 60_000;
    expect((await call('/toys/3', { key: 'key-1' })).status).toBe(200);
  });

  it.each([
    [59, 200],
    [61, 429],
  ])('a key that verified from there %i s ago is answered %i', async (seconds, status) => {
    await start();
    await call('/toys/3', { key: 'key-1' });
    now += seconds * 1_000 - 30_000;
    await fail(30);
    now += 30_000;
    expect((await call('/toys/3', { key: 'key-1' })).status).toBe(status);
    expect((await call('/toys/3', { key: 'key-2' })).status).toBe(429);
  });

  it('a key in use stays in use for as long as it is', async () => {
    await start();
    for (let n = 0; n < 10; n++) {
      expect((await call('/toys/3', { key: 'key-1' })).status).toBe(200);
      now += 20_000;
      for (let m = 0; m < 31; m++) await bad(m);
    }
  });

  it('a key that verified from another address is none of its keys', async () => {
    await start({ trustedProxies: { hops: 1 } });
    await call('/toys/3', { key: 'key-1', from: '1.1.1.1' });
    await inTurn(31, () => call('/toys/3', { key: 'bad-key', from: '2.2.2.2' }));
    expect((await call('/toys/3', { key: 'key-1', from: '2.2.2.2' })).status).toBe(429);
    expect((await call('/toys/3', { key: 'key-1', from: '1.1.1.1' })).status).toBe(200);
  });

  it('a revoked key never benefits, and counts itself', async () => {
    await start();
    await call('/toys/3', { key: 'key-1' });
    revokedKeys.add('key-1');
    const revoked = () => call('/toys/3', { key: 'key-1' });
    expect(await inTurn(31, revoked)).toEqual([...all(30, 401), 429]);
    expect((await call('/toys/3', { key: goodKey })).status).toBe(429);
  });

  it('access tokens are not refused: a valid one works, an invalid one keeps getting its challenge', async () => {
    await start();
    await fail(30);
    expect((await call('/toys/3', { key: 'at_key-1' })).status).toBe(200);
    const invalid = await call('/toys/3', { key: 'at_unknown' });
    expect([invalid.status, standing(invalid)[0]]).toEqual([401, '100']);
    expect(invalid.headers.get('www-authenticate')).toContain('error="invalid_token"');
  });

  it('anonymous calls are not refused', async () => {
    await start();
    await fail(30);
    expect((await call('/toys/newest')).status).toBe(200);
    expect((await call('/toys/3')).status).toBe(401);
  });

  it.each([
    ['malformed API keys', 429, 'bad-key'],
    ['invalid access tokens', 429, 'at_unknown'],
    ['invalid JWTs', 429, 'eyJh.eyJz.c2ln'],
    ['broken headers', 429, 'a b'],
    ['expired access tokens', 200, 'at_expired'],
    ['requests without a credential', 200, undefined],
  ])('after 30 %s a new key is answered %i', async (_what, status, key) => {
    await start();
    const given = key === undefined ? {} : { key };
    expect(await inTurn(30, () => call('/toys/3', given))).toEqual(all(30, 401));
    expect((await call('/toys/3', { key: 'key-1' })).status).toBe(status);
  });

  it('an expired access token says so, and is counted for the address', async () => {
    await start();
    const answer = await call('/toys/3', { key: 'at_expired' });
    expect([answer.status, standing(answer)]).toEqual([401, ['100', '99', '60', null]]);
    expect(answer.headers.get('www-authenticate')).toContain(
      'error="invalid_token", error_description="The access token expired"',
    );
  });

  it("make no window of their own: the memory that a spray takes is one address'", async () => {
    await start();
    expect(await inTurn(200, () => bad(Math.trunc(now++)))).toEqual([...all(30, 401), ...all(170, 429)]);
    expect(standing(await call('/toys/newest'))[1]).toBe('69');
  });
});

describe('security headers', () => {
  const expected = {
    'content-security-policy': "default-src 'none';frame-ancestors 'none'",
    'strict-transport-security': 'max-age=31536000; includeSubDomains',
    'x-content-type-options': 'nosniff',
  };

  it.each([
    ['GET', '/toys/newest'],
    ['GET', '/toys/3'],
    ['GET', '/nothing'],
    ['PATCH', '/toys/3'],
    ['OPTIONS', '/toys/3'],
    ['POST', '/failures/bug'],
    ['GET', '/health'],
    ['GET', '/metrics'],
    ['GET', '/campaigns/%zz/slow'],
  ])('are on the answer to %s %s, which says nothing of the software', async (method, path) => {
    await start();
    const { headers } = await call(path, { method });
    expect(Object.fromEntries(headers)).toMatchObject(expected);
    expect([headers.get('server'), headers.get('x-powered-by')]).toEqual([null, null]);
  });
});
