import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { specifiedLimits } from '../../shared/limits/limits.ts';
import { createToyOrigins, otherAppOrigin, ownAppOrigin } from '../support/toy-origins.ts';
import { goodKey, startToyService, type ToyService } from '../support/toy-service.ts';

const origins = createToyOrigins();
let toys: ToyService;
beforeAll(async () => {
  toys = await startToyService({ origins, unbuilt: ['/later'] });
});
beforeEach(() => {
  origins.asked.length = 0;
});
afterAll(async () => {
  expect(toys.check.problems).toEqual([]);
  await toys.server.drain();
});

type Headers = Readonly<Record<string, string>>;

const send = (method: string, path: string, headers: Headers, to = toys): Promise<Response> =>
  fetch(`${to.url}${path}`, { method, headers });
const withKey = { Authorization: `Bearer ${goodKey}` };
const preflight = (origin: string, path = '/toys'): Promise<Response> =>
  send('OPTIONS', path, {
    Origin: origin,
    'Access-Control-Request-Method': 'POST',
    'Access-Control-Request-Headers': 'authorization,content-type',
  });

/** All headers of CORS. */
const corsOf = ({ headers }: Response): Headers =>
  Object.fromEntries([...headers].filter(([name]) => name.startsWith('access-control-')));

const lookAlikes = [
  'null',
  'https://unknown.example.com',
  'https://app.example.com.evil.test',
  'https://evilapp.example.com',
  'http://app.example.com',
  'https://app.example.com:444',
  'https://app.example.com/',
  'HTTPS://app.example.com',
  'https://app.example.com, https://evil.test',
  '*',
  '',
  `https://${'a'.repeat(300)}.test`,
];

describe('a preflight', () => {
  it.each([ownAppOrigin, otherAppOrigin])('of an origin that an account registered: %s', async (origin) => {
    const answer = await preflight(origin);
    expect([answer.status, answer.headers.get('vary'), answer.headers.get('allow')]).toEqual([
      204,
      'Origin',
      'GET, POST, HEAD, OPTIONS',
    ]);
    expect(corsOf(answer)).toEqual({
      'access-control-allow-origin': origin,
      'access-control-allow-methods': 'GET, POST, HEAD, OPTIONS',
      'access-control-allow-headers':
        'Authorization, Content-Type, Idempotency-Key, Last-Event-ID, Mcp-Protocol-Version, Mcp-Session-Id, X-Request-Id',
      'access-control-max-age': '600',
    });
    expect(answer.headers.get('ratelimit-limit')).not.toBeNull();
  });

  it.each(lookAlikes)('of another origin allows nothing: %.40s', async (origin) => {
    const answer = await preflight(origin);
    expect([answer.status, corsOf(answer)]).toEqual([204, {}]);
    expect([answer.headers.get('vary'), answer.headers.get('allow')]).toEqual([
      'Origin',
      'GET, POST, HEAD, OPTIONS',
    ]);
    expect(answer.headers.get('ratelimit-limit')).not.toBeNull();
  });

  it('of an unknown path allows nothing', async () => {
    const answer = await preflight(ownAppOrigin, '/nothing');
    expect([answer.status, corsOf(answer), origins.asked]).toEqual([404, {}, []]);
  });

  it('without a method or an origin is an ordinary OPTIONS request', async () => {
    for (const headers of [{ Origin: ownAppOrigin }, { 'Access-Control-Request-Method': 'POST' }]) {
      const answer = await send('OPTIONS', '/toys', headers);
      expect([answer.status, corsOf(answer)]).toEqual([204, {}]);
    }
    expect(origins.asked).toEqual([]);
  });

  it('is counted for the address, and refused above its limit', async () => {
    const limits = { ...specifiedLimits, address: { requests: 1, windowSeconds: 60 } };
    const limited = await startToyService({ origins, limits });
    const headers = { Origin: ownAppOrigin, 'Access-Control-Request-Method': 'POST' };
    const first = await send('OPTIONS', '/toys', headers, limited);
    const second = await send('OPTIONS', '/toys', headers, limited);
    expect([first.status, first.headers.get('ratelimit-remaining')]).toEqual([204, '0']);
    expect([second.status, corsOf(second)]).toEqual([429, {}]);
    await limited.server.drain();
  });
});

describe('a request with a credential', () => {
  const exposed = {
    'access-control-allow-origin': ownAppOrigin,
    'access-control-expose-headers':
      'RateLimit-Limit, RateLimit-Remaining, RateLimit-Reset, Retry-After, X-Request-Id, Idempotent-Replayed, WWW-Authenticate, Mcp-Session-Id',
  };

  it.each([
    ['GET', '/toys/3', 200],
    ['HEAD', '/toys/3', 200],
    ['DELETE', '/toys/3', 204],
    ['GET', '/toys/0', 400],
    ['GET', '/later/x', 501],
  ])('may be read by an origin of its account: %s %s is %i', async (method, path, status) => {
    const answer = await send(method, path, { ...withKey, Origin: ownAppOrigin });
    expect([answer.status, answer.headers.get('vary'), corsOf(answer)]).toEqual([status, 'Origin', exposed]);
  });

  it('without the scope, or above its limit, may be read, too', async () => {
    const limits = { ...specifiedLimits, credential: { requests: 1, windowSeconds: 60 } };
    const limited = await startToyService({ origins, limits });
    const headers = { Authorization: 'Bearer at_read-1', Origin: ownAppOrigin };
    const answers = [await send('DELETE', '/toys/3', headers, limited)];
    answers.push(await send('DELETE', '/toys/3', headers, limited));
    expect(answers.map(({ status }) => status)).toEqual([403, 429]);
    expect(answers.map(corsOf)).toEqual([exposed, exposed]);
    await limited.server.drain();
  });

  it.each([otherAppOrigin, ...lookAlikes])('may not be read by another origin: %.40s', async (origin) => {
    const answer = await send('GET', '/toys/3', { ...withKey, Origin: origin });
    expect([answer.status, answer.headers.get('vary'), corsOf(answer)]).toEqual([200, 'Origin', {}]);
  });

  it('that does not verify may not be read: an answer to anyone repeats no origin', async () => {
    const refused = [{}, { Authorization: 'Bearer unknown' }, { Authorization: 'Bearer broken-store' }];
    for (const credential of refused) {
      const answer = await send('GET', '/toys/3', { ...credential, Origin: ownAppOrigin });
      expect([answer.headers.get('vary'), corsOf(answer)]).toEqual(['Origin', {}]);
    }
    expect(origins.asked).toEqual([]);
  });

  it('of a signed-in person may not be read by another origin', async () => {
    const session = { Cookie: '__Host-sc_session=session-1', Origin: ownAppOrigin };
    const answer = await send('GET', '/toys/3', session);
    expect([answer.status, corsOf(answer), origins.asked]).toEqual([200, {}, []]);
  });

  it('without an Origin header looks up no origin', async () => {
    const answer = await send('GET', '/toys/3', withKey);
    expect([answer.headers.get('vary'), corsOf(answer), origins.asked]).toEqual(['Origin', {}, []]);
  });
});

it('a public answer may not be read by another origin', async () => {
  const answer = await send('GET', '/toys/newest', { Origin: ownAppOrigin });
  expect([answer.status, corsOf(answer), origins.asked]).toEqual([200, {}, []]);
});
