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
  readonly session?: string;
  readonly method?: string;
  /** The client address, if one hop is trusted. */
  readonly from?: string;
}

const call = async (path: string, { key, session, method = 'GET', from }: Call = {}): Promise<Response> => {
  const answer = await fetch(`${toys?.url}${path}`, {
    method,
    headers: {
      ...(key === undefined ? {} : { Authorization: `Bearer ${key}` }),
      ...(session === undefined ? {} : { Cookie: `__Host-sc_session=${session}` }),
      ...(from === undefined ? {} : { 'X-Forwarded-For': from }),
    },
  });
  await answer.clone().arrayBuffer();
  return answer;
};

/** Limit, remaining, reset, Retry-After; null for missing headers. */
const limitHeaders = ({ headers }: Response) => [
  headers.get('ratelimit-limit'),
  headers.get('ratelimit-remaining'),
  headers.get('ratelimit-reset'),
  headers.get('retry-after'),
];
const uncounted = [null, null, null, null];
const statusesOf = async (times: number, send: () => Promise<Response>): Promise<readonly number[]> => {
  const statuses: number[] = [];
  for (let n = 0; n < times; n++) statuses.push((await send()).status);
  return statuses;
};
const all = (times: number, status: number): readonly number[] => Array.from({ length: times }, () => status);

const countedAt = (path: string, limit: RequestLimit): Route =>
  route({
    method: 'post',
    path,
    operationId: path.replaceAll(/\W/g, ''),
    summary: 'Counted',
    tag: 'Toys',
    access: limit === 'credential' ? 'exchange:read' : 'public',
    limit,
    responses: { 204: { description: 'Done' } },
    handle: async () => ({ status: 204 }),
  });

describe('the table of limits', () => {
  const countedIn = (limit: RequestLimit): Route => countedAt(`/counted/${limit}`, limit);
  const requestLimits = Object.keys(specifiedLimits).filter(
    (name) => !['unverified', 'invitations', 'invitedAddress'].includes(name),
  ) as RequestLimit[];

  it('equals the specification', () => {
    expect(specifiedLimits).toEqual({
      credential: { requests: 100, windowSeconds: 60 },
      address: { requests: 100, windowSeconds: 60 },
      unverified: { requests: 30, windowSeconds: 60 },
      auth: { requests: 40, windowSeconds: 900 },
      signUp: { requests: 20, windowSeconds: 3_600 },
      passwordReset: { requests: 12, windowSeconds: 3_600 },
      clientRegistration: { requests: 20, windowSeconds: 3_600 },
      token: { requests: 300, windowSeconds: 900 },
      invitations: { requests: 100, windowSeconds: 86_400 },
      invitedAddress: { requests: 1, windowSeconds: 3_600 },
    });
  });

  it.each(requestLimits)('%s: accepts requests up to the limit in each window', async (name) => {
    await start({ routes: [countedIn(name)] });
    const { requests, windowSeconds } = specifiedLimits[name];
    const post = () => call(`/counted/${name}`, { method: 'POST', key: goodKey });
    for (let n = 1; n <= requests; n++) {
      const answer = await post();
      expect([answer.status, limitHeaders(answer)]).toEqual([
        204,
        [String(requests), String(requests - n), String(windowSeconds), null],
      ]);
    }
    now += 500;
    const over = await post();
    expect([over.status, limitHeaders(over)]).toEqual([
      429,
      [String(requests), '0', String(windowSeconds), String(windowSeconds)],
    ]);
    expect(await over.json()).toEqual({
      data: null,
      error: { code: 'RATE_LIMITED', message: expect.stringContaining(String(requests)) },
    });
    // The last ms of the window: refused requests have not extended it.
    now += windowSeconds * 1_000 - 501;
    expect(limitHeaders(await post())).toEqual([String(requests), '0', '1', '1']);
    now += 1;
    expect([(await post()).status, limitHeaders(await post())]).toEqual([
      204,
      [String(requests), String(requests - 2), String(windowSeconds), null],
    ]);
    expect(toys?.check.problems).toEqual([]);
    console.log(`${name}: ${requests} requests in ${windowSeconds} s passed, the next did not`);
  });

  it('each limit has its own window', async () => {
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

describe('a request is counted', () => {
  it('for its key, from any address, without an effect on other keys and anonymous calls', async () => {
    await start({ trustedProxies: { hops: 1 } });
    for (let n = 0; n < 100; n++) await call('/toys/3', { key: 'key-1', from: `10.0.0.${n}` });
    expect((await call('/toys/3', { key: 'key-1', from: '10.0.1.1' })).status).toBe(429);
    expect(limitHeaders(await call('/toys/3', { key: 'key-2', from: '10.0.0.1' }))[1]).toBe('99');
    expect(limitHeaders(await call('/toys/newest', { from: '10.0.0.1' }))[1]).toBe('99');
  });

  it('for its address if it is anonymous, without an effect on keys', async () => {
    await start();
    expect(await statusesOf(101, () => call('/toys/newest'))).toEqual([...all(100, 200), 429]);
    expect((await call('/toys/newest', { key: goodKey })).status).toBe(429);
    expect((await call('/toys/3')).status).toBe(429);
    expect((await call('/toys/3', { key: goodKey })).status).toBe(200);
  });

  it('for its 64-bit network (IPv6), or for its IPv4 address in either form', async () => {
    await start({ trustedProxies: { hops: 1 } });
    const remaining = async (from: string) => limitHeaders(await call('/toys/newest', { from }))[1];
    expect(await remaining('2001:db8:1:2::1')).toBe('99');
    expect(await remaining('2001:db8:1:2:ffff::9')).toBe('98');
    expect(await remaining('2001:db8:1:3::1')).toBe('99');
    expect(await remaining('1.2.3.4')).toBe('99');
    expect(await remaining('::ffff:102:304')).toBe('98');
  });

  it('without regard to X-Forwarded-For if no proxy is trusted', async () => {
    await start();
    await call('/toys/newest', { from: '1.2.3.4' });
    expect(limitHeaders(await call('/toys/newest', { from: '5.6.7.8' }))[1]).toBe('98');
  });

  it.each([
    ['one without a credential', '/toys/3', {}, 401],
    ['for an unknown path', '/nothing', { key: goodKey }, 404],
    ['for an unknown path below /assets, unless GET', '/assets/a.png', { method: 'POST' }, 404],
    ['for another method', '/toys/3', { method: 'PATCH' }, 405],
    ['a preflight', '/toys/3', { method: 'OPTIONS' }, 204],
    ['a preflight of an unknown path', '/nothing', { method: 'OPTIONS' }, 404],
    ['for a path that cannot be decoded', '/campaigns/%zz/slow', {}, 400],
  ])('for its address if it is %s', async (_what, path, options, status) => {
    await start();
    const answer = await call(path, options);
    expect([answer.status, limitHeaders(answer)]).toEqual([status, ['100', '99', '60', null]]);
    expect(await statusesOf(100, () => call(path, options))).toEqual([...all(99, status), 429]);
  });

  it.each([
    '/health',
    '/ready',
    '/metrics',
    '/openapi.json',
    '/.well-known/oauth-protected-resource',
    '/assets/a.png',
  ])('not at all for %s', async (path) => {
    await start();
    await statusesOf(101, () => call('/toys/newest'));
    const answer = await call(path);
    expect([answer.status === 429, limitHeaders(answer)]).toEqual([false, uncounted]);
  });

  it('not at all for another method of an uncounted path', async () => {
    await start();
    const answer = await call('/health', { method: 'OPTIONS' });
    expect([answer.status, limitHeaders(answer)]).toEqual([204, uncounted]);
  });

  it('for its address if it has a session, which shares the window with anonymous calls', async () => {
    await start();
    const remaining = async (options: Call) => limitHeaders(await call('/toys/3', options)).slice(0, 2);
    expect(await remaining({ session: 'session-1' })).toEqual(['100', '99']);
    expect(await remaining({ session: 'session-2' })).toEqual(['100', '98']);
    expect(await remaining({ session: 'unknown' })).toEqual(['100', '97']);
    expect(await remaining({})).toEqual(['100', '96']);
    const write = await call('/toys/3', { session: 'session-1', method: 'DELETE' });
    expect([write.status, limitHeaders(write)]).toEqual([403, ['100', '95', '60', null]]);
    expect(await statusesOf(96, () => call('/toys/3', { session: 'session-1' }))).toEqual([
      ...all(95, 200),
      429,
    ]);
    expect((await call('/toys/3', { key: goodKey })).status).toBe(200);
  });

  it('for its access token: two tokens of one grant have a window each', async () => {
    await start();
    expect(await statusesOf(101, () => call('/toys/3', { key: 'at_key-1' }))).toEqual([
      ...all(100, 200),
      429,
    ]);
    expect(limitHeaders(await call('/toys/3', { key: 'at_key-2' }))).toEqual(['100', '99', '60', null]);
  });

  it.each([
    ['an unknown path', '/auth/nothing', 'POST', 404],
    ['another method', '/auth/known', 'PATCH', 405],
    ['a path that cannot be decoded', '/auth/by-id/%zz', 'GET', 400],
  ])('in the limit of sign-in below /auth/: %s', async (_what, path, method, status) => {
    await start({ routes: [countedAt('/auth/known', 'signUp'), countedAt('/auth/by-id/{id}', 'signUp')] });
    expect(await statusesOf(41, () => call(path, { method }))).toEqual([...all(40, status), 429]);
    expect(limitHeaders(await call(path, { method })).slice(0, 2)).toEqual(['40', '0']);
  });

  it('for its address if it is a preflight below /auth/', async () => {
    await start({ routes: [countedAt('/auth/known', 'signUp')] });
    for (const path of ['/auth/known', '/auth/nothing']) {
      expect(limitHeaders(await call(path, { method: 'OPTIONS' }))[0]).toBe('100');
    }
  });

  it('not at all if its credential cannot be looked up', async () => {
    await start();
    const answer = await call('/toys/3', { key: 'broken-store' });
    expect([answer.status, limitHeaders(answer)]).toEqual([503, [null, null, null, '1']]);
  });
});

describe('the headers', () => {
  it.each([
    ['a refusal', '/toys/0', 'GET', 400],
    ['an internal error', '/failures/bug', 'POST', 500],
    ['an unavailable store', '/failures/store', 'POST', 503],
    ['an answer to HEAD', '/toys/3', 'HEAD', 200],
    ['an answer without a body', '/toys/3', 'DELETE', 204],
  ])('are on %s', async (_what, path, method, status) => {
    await start();
    const answer = await call(path, { method, key: goodKey });
    expect([answer.status, limitHeaders(answer).slice(0, 3)]).toEqual([status, ['100', '99', '60']]);
  });

  it('round up the remaining seconds', async () => {
    await start();
    await call('/toys/newest');
    const resetAfter = async (ms: number) => {
      now += ms;
      return limitHeaders(await call('/toys/newest'))[2];
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
      .map((answer) => Number(limitHeaders(answer)[1]));
    expect(remaining.sort((a, b) => b - a)).toEqual(Array.from({ length: 100 }, (_, n) => 99 - n));
  });
});

describe('credentials that do not verify', () => {
  const bad = (n: number): Promise<Response> => call('/toys/3', { key: `bad-key-${n}` });
  const fail = async (times: number): Promise<void> => {
    for (let n = 0; n < times; n++) expect((await bad(n)).status).toBe(401);
  };
  const refused = ['30', '0', '60', '60'];

  it('given 30 in a minute, then they are 401 and later ones 429 until the window ends', async () => {
    await start();
    for (let n = 1; n <= 30; n++) {
      const answer = await bad(n);
      // The headers show the window of the address.
      expect([answer.status, limitHeaders(answer)]).toEqual([401, ['100', String(100 - n), '60', null]]);
    }
    for (let n = 31; n < 40; n++) {
      const answer = await bad(n);
      expect([answer.status, limitHeaders(answer)]).toEqual([429, refused]);
      expect(await answer.json()).toMatchObject({
        data: null,
        error: { code: 'RATE_LIMITED', details: { reason: 'unverified_credentials' } },
      });
    }
    now += 59_999;
    expect(limitHeaders(await bad(1))).toEqual(['30', '0', '1', '1']);
    now += 1;
    expect((await bad(1)).status).toBe(401);
    expect(toys?.check.problems).toEqual([]);
  });

  it.each([
    [29, 200],
    [30, 429],
    [31, 429],
  ])('after %i of them a key that is new at the address is answered %i', async (failures, status) => {
    await start();
    await fail(Math.min(failures, 30));
    if (failures > 30) await bad(0);
    const answer = await call('/toys/3', { key: 'key-1' });
    expect([answer.status, limitHeaders(answer)[0]]).toEqual([status, status === 200 ? '100' : '30']);
    // A refused key does not count as verified there.
    expect((await call('/toys/3', { key: 'key-1' })).status).toBe(status);
    now += 60_000;
    expect((await call('/toys/3', { key: 'key-1' })).status).toBe(200);
  });

  it.each([
    [59, 200],
    [61, 429],
  ])('a key that was verified at the address %i s ago is answered %i', async (seconds, status) => {
    await start();
    await call('/toys/3', { key: 'key-1' });
    now += seconds * 1_000 - 30_000;
    await fail(30);
    now += 30_000;
    expect((await call('/toys/3', { key: 'key-1' })).status).toBe(status);
    expect((await call('/toys/3', { key: 'key-2' })).status).toBe(429);
  });

  it('a key that is used regularly stays verified', async () => {
    await start();
    for (let n = 0; n < 10; n++) {
      expect((await call('/toys/3', { key: 'key-1' })).status).toBe(200);
      now += 20_000;
      for (let m = 0; m < 31; m++) await bad(m);
    }
  });

  it('a key that was verified at another address counts as new', async () => {
    await start({ trustedProxies: { hops: 1 } });
    await call('/toys/3', { key: 'key-1', from: '1.1.1.1' });
    await statusesOf(31, () => call('/toys/3', { key: 'bad-key', from: '2.2.2.2' }));
    expect((await call('/toys/3', { key: 'key-1', from: '2.2.2.2' })).status).toBe(429);
    expect((await call('/toys/3', { key: 'key-1', from: '1.1.1.1' })).status).toBe(200);
  });

  it('a revoked key is never treated as verified, and is counted', async () => {
    await start();
    await call('/toys/3', { key: 'key-1' });
    revokedKeys.add('key-1');
    const revoked = () => call('/toys/3', { key: 'key-1' });
    expect(await statusesOf(31, revoked)).toEqual([...all(30, 401), 429]);
    expect((await call('/toys/3', { key: goodKey })).status).toBe(429);
  });

  it('access tokens are not limited: a valid one works, an invalid one receives its challenge', async () => {
    await start();
    await fail(30);
    expect((await call('/toys/3', { key: 'at_key-1' })).status).toBe(200);
    const invalid = await call('/toys/3', { key: 'at_unknown' });
    expect([invalid.status, limitHeaders(invalid)[0]]).toEqual([401, '100']);
    expect(invalid.headers.get('www-authenticate')).toContain('error="invalid_token"');
  });

  it('anonymous calls are not limited', async () => {
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
    expect(await statusesOf(30, () => call('/toys/3', given))).toEqual(all(30, 401));
    expect((await call('/toys/3', { key: 'key-1' })).status).toBe(status);
  });

  it('an expired access token receives the reason, and is counted for the address', async () => {
    await start();
    const answer = await call('/toys/3', { key: 'at_expired' });
    expect([answer.status, limitHeaders(answer)]).toEqual([401, ['100', '99', '60', null]]);
    expect(answer.headers.get('www-authenticate')).toContain(
      'error="invalid_token", error_description="The access token expired"',
    );
  });

  it('unknown sessions are not among them: they are counted for the address only', async () => {
    await start();
    expect(await statusesOf(40, () => call('/toys/3', { session: 'unknown' }))).toEqual(all(40, 401));
    expect((await call('/toys/3', { key: 'key-1' })).status).toBe(200);
  });

  it('sessions are not refused after 30 of them', async () => {
    await start();
    await fail(30);
    expect((await call('/toys/3', { session: 'session-1' })).status).toBe(200);
  });

  it('are counted on a route with a limit of the address, too', async () => {
    const routes = [{ ...countedAt('/auth/mine', 'auth'), access: 'exchange:read' as const }];
    await start({ routes });
    const post = (key: string) => call('/auth/mine', { method: 'POST', key });
    for (let n = 1; n <= 30; n++) {
      const answer = await post(`bad-key-${n}`);
      expect([answer.status, limitHeaders(answer)]).toEqual([401, ['40', String(40 - n), '900', null]]);
    }
    expect(limitHeaders(await post('bad-key'))[0]).toBe('30');
    expect(limitHeaders(await post('key-1'))[0]).toBe('30');
  });

  it('share one window per address, also with many different keys', async () => {
    await start();
    expect(await statusesOf(200, () => bad(Math.trunc(now++)))).toEqual([...all(30, 401), ...all(170, 429)]);
    expect(limitHeaders(await call('/toys/newest'))[1]).toBe('69');
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
  ])('are on the answer to %s %s, which does not reveal the software', async (method, path) => {
    await start();
    const { headers } = await call(path, { method });
    expect(Object.fromEntries(headers)).toMatchObject(expected);
    expect([headers.get('server'), headers.get('x-powered-by')]).toEqual([null, null]);
  });
});
