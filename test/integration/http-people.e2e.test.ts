import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { route, type Route } from '../../shared/http/route.ts';
import { refusal } from '../support/toy-client.ts';
import { goodKey, startToyService, type ToyService } from '../support/toy-service.ts';

let toys: ToyService;
beforeAll(async () => {
  toys = await startToyService({ routes: [meRoute, signInRoute, otherResourceRoute] });
});
beforeEach(() => {
  toys.seen.length = 0;
});
afterAll(async () => {
  expect(toys.check.problems).toEqual([]);
  await toys.server.drain();
});

const done = { responses: { 204: { description: 'Done' } }, handle: async () => ({ status: 204 as const }) };
const named = (operationId: string) => ({ operationId, summary: operationId, tag: 'People' });

const meRoute = route({ ...named('getMe'), ...done, method: 'get', path: '/me', access: 'session' });

const signInRoute: Route = route({
  ...named('signIn'),
  method: 'post',
  path: '/auth/sign-in',
  access: 'public',
  limit: 'auth',
  firstParty: true,
  responses: { 204: { description: 'Signed in' } },
  handle: async ({ request }) => {
    toys.seen.push(request);
    return { status: 204, headers: { 'Set-Cookie': ['a=1; Path=/', 'b=2; Path=/'] } };
  },
});

const otherResourceRoute = route({
  ...named('getOther'),
  ...done,
  method: 'get',
  path: '/other',
  access: 'exchange:read',
  resource: '/other',
});

const own = 'https://exchange.test';
const cookie = { Cookie: 'theme=dark; __Host-sc_session=session-1; a=b' };
const bearer = (credential: string) => ({ Authorization: `Bearer ${credential}` });
type Headers = Readonly<Record<string, string>>;

const send = (method: string, path: string, headers: Headers): Promise<Response> =>
  fetch(`${toys.url}${path}`, { method, headers, ...(method === 'POST' && { body: '{"name":"a"}' }) });
const read = (headers: Headers, path = '/toys/3') => send('GET', path, headers);
const write = (headers: Headers, path = '/toys') =>
  send('POST', path, { 'Content-Type': 'application/json', ...headers });

const challenge = (suffix = '') =>
  `Bearer realm="buyer-exchange", resource_metadata="https://exchange.test/.well-known/oauth-protected-resource${suffix}"`;

describe('the cookie of a signed-in person', () => {
  it('is a credential, and its principal is a session', async () => {
    expect((await read(cookie)).status).toBe(200);
    await write({ ...cookie, Origin: own });
    expect(toys.seen.map(({ principal }) => [principal.kind, principal.actor])).toEqual([
      ['session', 'session:session-1'],
    ]);
  });

  it.each(['unknown', '', 'session-1.x', 'a.b.c', '%00'])(
    'of no session is 401 with the plain challenge: %j',
    async (secret) => {
      const answer = await read({ Cookie: `__Host-sc_session=${secret}` });
      expect(await refusal(answer)).toEqual([401, 'UNAUTHORIZED', undefined]);
      expect(answer.headers.get('www-authenticate')).toBe(challenge());
    },
  );

  it('under another name does not count as a credential', async () => {
    for (const name of ['sc_session', '__host-sc_session', '__Secure-sc_session']) {
      expect((await read({ Cookie: `${name}=session-1` })).status).toBe(401);
    }
  });

  it('is ignored if there is an Authorization header: the bearer credential wins', async () => {
    expect((await read({ ...cookie, ...bearer('unknown') })).status).toBe(401);
    expect((await read({ ...cookie, Authorization: 'Basic dXNlcjpwYXNz' })).status).toBe(401);
    expect((await read({ ...cookie, ...bearer(goodKey) }, '/me')).status).toBe(403);
    expect((await write({ ...cookie, ...bearer(goodKey), Origin: 'https://evil.test' })).status).toBe(201);
    expect(toys.seen[0]?.principal.kind).toBe('api-key');
  });

  it('is 503 if the session cannot be looked up', async () => {
    const answer = await read({ Cookie: '__Host-sc_session=broken-store' });
    expect(await refusal(answer)).toEqual([503, 'SERVICE_UNAVAILABLE', undefined]);
  });
});

describe('a write with the cookie', () => {
  it.each([
    { Origin: own },
    { Origin: own, 'Sec-Fetch-Site': 'same-origin' },
    { 'Sec-Fetch-Site': 'same-origin' },
  ])('is accepted from a page of the service: %j', async (from: Headers) => {
    expect((await write({ ...cookie, ...from })).status).toBe(201);
  });

  it.each([
    {},
    { Origin: 'null' },
    { Origin: '' },
    { Origin: 'https://evil.test' },
    { Origin: 'https://exchange.test.evil.test' },
    { Origin: 'https://evilexchange.test' },
    { Origin: 'https://app.exchange.test' },
    { Origin: 'http://exchange.test' },
    { Origin: 'https://exchange.test:8443' },
    { Origin: 'https://exchange.test/' },
    { Origin: 'https://exchange.test, https://evil.test' },
    { Origin: 'https://evil.test', 'Sec-Fetch-Site': 'same-origin' },
    { 'Sec-Fetch-Site': 'cross-site' },
    { 'Sec-Fetch-Site': 'same-site' },
    { 'Sec-Fetch-Site': 'none' },
  ])('is 403 from elsewhere, and does nothing: %j', async (from: Headers) => {
    expect(await refusal(await write({ ...cookie, ...from }))).toEqual([403, 'FORBIDDEN', undefined]);
    const removal = await send('DELETE', '/toys/3', { ...cookie, ...from });
    expect([removal.status, toys.seen]).toEqual([403, []]);
  });

  it('of no session is 401 from anywhere', async () => {
    const unknown = { Cookie: '__Host-sc_session=unknown' };
    for (const from of [{}, { Origin: own }, { Origin: 'https://evil.test' }]) {
      expect((await write({ ...unknown, ...from })).status).toBe(401);
    }
  });

  it('as a form is 415', async () => {
    for (const type of ['text/plain', 'application/x-www-form-urlencoded', 'multipart/form-data']) {
      expect((await write({ ...cookie, Origin: own, 'Content-Type': type })).status).toBe(415);
    }
    expect(toys.seen).toEqual([]);
  });
});

describe('a read with the cookie', () => {
  it.each([{}, { Origin: 'https://evil.test' }, { 'Sec-Fetch-Site': 'cross-site' }])(
    'is answered, but no other origin may see the answer: %j',
    async (from: Headers) => {
      const answer = await read({ ...cookie, ...from });
      expect([answer.status, answer.headers.get('access-control-allow-origin')]).toEqual([200, null]);
    },
  );
});

describe('a public route that sets cookies', () => {
  it.each([
    {},
    { Origin: own },
    { 'Sec-Fetch-Site': 'same-origin' },
    { 'Sec-Fetch-Site': 'none' },
    { Origin: own, 'Sec-Fetch-Site': 'same-origin' },
  ])('accepts a client that is not a browser, and a page of the service: %j', async (from: Headers) => {
    expect((await write(from, '/auth/sign-in')).status).toBe(204);
  });

  it.each([
    { Origin: 'https://evil.test' },
    { Origin: 'null' },
    { Origin: 'https://exchange.test.evil.test' },
    { 'Sec-Fetch-Site': 'cross-site' },
    { 'Sec-Fetch-Site': 'same-site' },
    { Origin: own, 'Sec-Fetch-Site': 'cross-site' },
  ])('refuses a page of another origin, which could sign its visitor in: %j', async (from: Headers) => {
    expect(await refusal(await write(from, '/auth/sign-in'))).toEqual([403, 'FORBIDDEN', undefined]);
    expect(toys.seen).toEqual([]);
  });

  it('can set several cookies', async () => {
    expect((await write({}, '/auth/sign-in')).headers.getSetCookie()).toEqual(['a=1; Path=/', 'b=2; Path=/']);
  });
});

describe('a route for signed-in people only', () => {
  it.each([
    ['a session', cookie, 204],
    ['no credential', {}, 401],
    ['an unknown session', { Cookie: '__Host-sc_session=x' }, 401],
    ['an API key', bearer(goodKey), 403],
    ['an access token', bearer('at_key-1'), 403],
  ])('answers %s', async (_what, headers: Headers, status) => {
    expect((await read(headers, '/me')).status).toBe(status);
  });
});

describe('an access token', () => {
  it('is verified for the resource of the route, and its challenge names it', async () => {
    expect((await read(bearer('at_key-1'))).status).toBe(200);
    expect((await read(bearer('at_other-1'), '/other')).status).toBe(204);
    const foreign = await read(bearer('at_key-1'), '/other');
    expect([foreign.status, foreign.headers.get('www-authenticate')]).toEqual([
      401,
      `${challenge('/other')}, error="invalid_token"`,
    ]);
    expect((await read({}, '/other')).headers.get('www-authenticate')).toBe(challenge('/other'));
  });

  it('without the scope receives the scopes to ask for; an API key does not', async () => {
    const answer = await write(bearer('at_read-1'));
    expect(await refusal(answer)).toEqual([403, 'FORBIDDEN', undefined]);
    expect(answer.headers.get('www-authenticate')).toBe(
      `${challenge()}, error="insufficient_scope", scope="exchange:read exchange:write"`,
    );
    expect((await read(bearer(goodKey), '/me')).headers.get('www-authenticate')).toBeNull();
  });

  it('and API keys are both named where a credential is missing or wrong', async () => {
    for (const headers of [{}, bearer('unknown'), bearer('at_unknown')]) {
      const { error } = (await (await read(headers)).json()) as { error: { message: string } };
      expect(error.message).toMatch(/API key.* access token/);
    }
  });
});

describe('the client of a request', () => {
  it.each([
    ['Toy/1.0 (X11; Linux)', 'Toy/1.0 (X11; Linux)'],
    ['a'.repeat(513), 'a'.repeat(512)],
    ['caf\u00e9\ttab', 'caf??tab'],
    ['\u00ff', '?'],
  ])('has its User-Agent in 512 printable characters at most: %.20s', async (given, agent) => {
    await write({ ...bearer(goodKey), 'User-Agent': given });
    expect(toys.seen.map(({ client }) => [client.address, client.agent])).toEqual([['127.0.0.1', agent]]);
  });
});
