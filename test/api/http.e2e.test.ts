import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import type { AdvertiserResource } from '../../domain/advertisers/resource.ts';
import { apiOf, invalid, refusalOf } from '../support/api-client.ts';
import { rawExchange } from '../support/raw-http.ts';
import { startRunningService, type RunningService, type TestAccount } from '../support/running-service.ts';

/**
 * The HTTP layer with the real routes: credentials, paths, bodies. `test/integration/http-*.e2e.test.ts` covers
 * HTTP itself with separate test routes.
 */

let service: RunningService;
let account: TestAccount;
beforeAll(async () => {
  service = await startRunningService();
  account = await service.openAccount();
});
afterAll(() => service.stop());

const path = '/api/v2/buyer/advertisers';
const fetchAs = (authorization: string | undefined, init: RequestInit = {}): Promise<Response> =>
  fetch(`${service.baseUrl}${path}`, {
    ...init,
    headers: {
      'Content-Type': 'application/json',
      ...(authorization === undefined ? {} : { Authorization: authorization }),
    },
  });

describe('credentials', () => {
  const challenge = (): string =>
    `Bearer realm="buyer-exchange", resource_metadata="${service.baseUrl}/.well-known/oauth-protected-resource"`;
  const other = (text: string): string => (text.endsWith('A') ? 'B' : 'A');

  it.each([undefined, 'Basic dXNlcjpwYXNz', 'Token x'])('are missing: %s', async (authorization) => {
    const answer = await fetchAs(authorization);
    expect([answer.status, answer.headers.get('www-authenticate')]).toEqual([401, challenge()]);
    expect(await answer.json()).toMatchObject({ data: null, error: { code: 'UNAUTHORIZED' } });
  });

  it('answers unknown, malformed, revoked ones and ones with another secret in the same way', async () => {
    const [prefix = '', keyId = '', ...rest] = account.apiKey.split('_');
    const secret = rest.join('_');
    const revoked = await service.openAccount();
    await service.pool.query('update api_keys set revoked_at = now() where customer_id = $1', [
      revoked.customerId,
    ]);
    const bodies = new Set<string>();
    for (const credential of [
      'nonsense',
      `${account.apiKey}A`,
      account.apiKey.slice(0, -1),
      `${prefix}_${'a'.repeat(16)}_${secret}`,
      `${prefix}_${keyId}_${secret.slice(0, -1)}${other(secret)}`,
      `${prefix}_${keyId}_${other(secret.slice(0, 1))}${secret.slice(1)}`,
      `${prefix}_${keyId.toLowerCase()}_${secret.toLowerCase()}`,
      revoked.apiKey,
    ]) {
      const answer = await fetchAs(`Bearer ${credential}`);
      expect([credential, answer.status]).toEqual([credential, 401]);
      expect(answer.headers.get('www-authenticate')).toBe(`${challenge()}, error="invalid_token"`);
      bodies.add(await answer.text());
    }
    expect(bodies.size).toBe(1);
  });

  it.each(['bearer', 'BEARER', 'Bearer  '])('accepts any case of the scheme: %s', async (scheme) => {
    expect((await fetchAs(`${scheme} ${account.apiKey}`)).status).toBe(200);
  });

  it('refuses a revoked key from its next request on', async () => {
    const { api, customerId } = await service.openAccount();
    const first = await api.post<AdvertiserResource>('/advertisers', { name: 'Acme' });
    const read = () => api.get(`/advertisers/${first.body.data.id}`);
    for (let n = 0; n < 5; n++) expect((await read()).status).toBe(200);
    await service.pool.query('update api_keys set revoked_at = now() where customer_id = $1', [customerId]);
    for (const answer of [await read(), await api.get('/advertisers'), await api.put(`/advertisers/1`, {})]) {
      expect(refusalOf(answer)).toEqual([401, 'UNAUTHORIZED', undefined]);
    }
  });

  it('answers every request with 503 while keys cannot be looked up', async () => {
    await service.pool.query('alter table api_keys rename to api_keys_away');
    try {
      const wellFormed = `bx_${'a'.repeat(16)}_${'b'.repeat(43)}`;
      for (const credential of [account.apiKey, wellFormed]) {
        const answer = await fetchAs(`Bearer ${credential}`);
        expect([answer.status, answer.headers.get('retry-after')]).toEqual([503, '1']);
        expect(await answer.json()).toMatchObject({ error: { code: 'SERVICE_UNAVAILABLE' } });
      }
    } finally {
      await service.pool.query('alter table api_keys_away rename to api_keys');
    }
    expect((await fetchAs(`Bearer ${account.apiKey}`)).status).toBe(200);
  });

  it('are checked before the request', async () => {
    const anonymous = apiOf(service.baseUrl);
    for (const answer of [
      await anonymous.get('/advertisers/abc?take=0'),
      await anonymous.post('/advertisers', '{', { 'Idempotency-Key': 'x' }),
      await anonymous.delete('/advertisers/1'),
      await anonymous.post('/advertisers/1/restore'),
    ]) {
      expect(refusalOf(answer)).toEqual([401, 'UNAUTHORIZED', undefined]);
    }
  });
});

describe('paths', () => {
  it.each([
    [path, 'PATCH', 'POST, GET, HEAD, OPTIONS'],
    [`${path}/1`, 'POST', 'PUT, DELETE, GET, HEAD, OPTIONS'],
    [`${path}/1/restore`, 'GET', 'POST, OPTIONS'],
    ['/health', 'DELETE', 'GET, HEAD, OPTIONS'],
  ])('%s refuses %s with 405', async (url, method, allow) => {
    const answer = await fetch(service.baseUrl + url, { method });
    expect([answer.status, answer.headers.get('allow')]).toEqual([405, allow]);
    expect(await answer.json()).toMatchObject({
      data: null,
      error: { code: 'METHOD_NOT_ALLOWED', message: `Method not allowed. Allowed: ${allow}.` },
    });
    const options = await fetch(service.baseUrl + url, { method: 'OPTIONS' });
    expect([options.status, options.headers.get('allow'), await options.text()]).toEqual([204, allow, '']);
  });

  it.each([
    '/api/v2/buyer',
    '/api/v2/buyer/advertisers/',
    '/api/v2/buyer/Advertisers',
    '/api/v1/buyer/advertisers',
    '/api/v2/buyer/advertisers/1/restore/1',
    '/api/v2/buyer/advertisers%2F1',
    '//',
  ])('%s is 404', async (url) => {
    const answer = await fetch(service.baseUrl + url);
    expect(answer.status).toBe(404);
    expect(await answer.json()).toMatchObject({ data: null, error: { code: 'NOT_FOUND' } });
  });

  it('percent-encoded characters are equal to plain ones', async () => {
    const { body } = await account.api.post<AdvertiserResource>('/advertisers', { name: 'Acme' });
    const encoded = String(body.data.id).replaceAll(/\d/g, '%3$&');
    expect((await account.api.get(`/advertisers/${encoded}`)).body.data).toEqual(body.data);
  });

  it('HEAD returns GET without the body', async () => {
    const get = await account.api.get('/advertisers');
    const { first } = await rawExchange(
      service.port,
      `HEAD ${path} HTTP/1.1\r\nHost: a\r\nAuthorization: Bearer ${account.apiKey}\r\n\r\n`,
      { toHead: true },
    );
    expect([first.status, first.headers['content-length'], first.body]).toEqual([
      200,
      String(Buffer.byteLength(get.text)),
      '',
    ]);
  });

  it('answers have no software name and no ETag', async () => {
    for (const answer of [await account.api.get('/advertisers'), await account.api.get('/nothing')]) {
      for (const name of ['etag', 'x-powered-by', 'server']) expect(answer.headers.get(name)).toBeNull();
      expect(answer.headers.get('content-type')).toBe('application/json; charset=utf-8');
    }
  });
});

describe('bodies', () => {
  const create = (body: string, headers = {}) => account.api.post('/advertisers', body, headers);
  const labels = (json: string): string => `{"name":"Acme","labels":${json}}`;

  it('may be empty with a content type, on every method', async () => {
    const { body } = await account.api.post<AdvertiserResource>('/advertisers', { name: 'Acme' });
    const one = `/advertisers/${body.data.id}`;
    expect((await account.api.get(one)).status).toBe(200);
    expect((await account.api.put(one)).status).toBe(200);
    expect((await account.api.delete(one)).status).toBe(204);
    expect((await account.api.post(`${one}/restore`)).status).toBe(200);
    expect(refusalOf(await account.api.post('/advertisers'))).toEqual(invalid('name'));
  });

  it.each([
    ['text/plain', '{"name":"Acme"}'],
    ['application/json; charset=utf-16', '{"name":"Acme"}'],
    ['application/x-www-form-urlencoded', 'name=Acme'],
  ])('with the type %s are 415', async (type, body) => {
    expect(refusalOf(await create(body, { 'Content-Type': type }))).toEqual([
      415,
      'UNSUPPORTED_MEDIA_TYPE',
      undefined,
    ]);
  });

  it.each(['{', '', ' ', '{"name":"Acme"}}', '\ufeff{"name":"Acme"}', '{"name":"Acme",}', "{'name':'Acme'}"])(
    'that are not JSON are 400: %j',
    async (body) => {
      const answer = await create(body);
      expect(refusalOf(answer)).toEqual(body === '' ? invalid('name') : [400, 'BAD_REQUEST', undefined]);
    },
  );

  it.each(['[]', '"Acme"', '7', 'null', 'true'])('that are not an object are 400: %s', async (body) => {
    expect(refusalOf(await create(body))).toEqual([400, 'VALIDATION_ERROR', undefined]);
  });

  it.each([
    ['U+0000 in a name', '{"name":"a\\u0000b"}', 'name'],
    ['half a surrogate pair in a name', '{"name":"a\\ud83d"}', 'name'],
    ['U+0000 in the name of a label', labels('{"a\\u0000":[]}'), 'labels.a'],
    ['half a surrogate pair in a label', labels('{"team":["\\udc00"]}'), 'labels.team.0'],
    ['U+0000 in an unknown member', '{"name":"Acme","unknown":[{"a":"\\u0000"}]}', 'unknown.0.a'],
    ['__proto__', labels('{"__proto__":["x"]}'), 'labels.__proto__'],
    ['a number beyond the range of a double', '{"name":"Acme","unknown":1e309}', 'unknown'],
    ['1,001 labels', labels(`{${Array.from({ length: 1_001 }, (_, n) => `"l${n}":[]`).join()}}`), 'labels'],
  ])('that cannot be stored are refused: %s', async (_what, body, field) => {
    const before = await service.store.head();
    expect(refusalOf(await create(body))).toEqual(invalid(field));
    expect(await service.store.head()).toBe(before);
  });

  it('may have members named prototype or constructor, which free-form members keep', async () => {
    const names = ['prototype', 'constructor', 'hasOwnProperty', 'toString', 'valueOf', 'toJSON', 'then'];
    const free = (value: unknown): object => Object.fromEntries(names.map((name) => [name, value]));
    const { api } = await service.openAccount();
    const created = await api.post<AdvertiserResource>('/advertisers', {
      name: 'Acme',
      labels: free(['v']),
      unknown: free({}),
      ...free(1),
    });
    expect([created.status, created.body.data.labels]).toEqual([201, free(['v'])]);
    const { id } = created.body.data;
    const renamed = await api.put<AdvertiserResource>(`/advertisers/${id}`, { name: 'New', ...free([]) });
    expect(renamed.body.data.labels).toEqual(free(['v']));
    expect((await api.get(`/advertisers/${id}`)).body.data).toEqual(renamed.body.data);
    const { body } = await api.get<{ changes: { path: string }[] }>(`/advertisers/${id}/diff?from=0&to=1`);
    const paths = body.data.changes.map(({ path: member }) => member);
    expect(paths).toEqual(expect.arrayContaining(names.map((name) => `/labels/${name}`)));

    const to = { account: { account_id: id } };
    const source = { event_source_id: 'web', mapping: free({ constructor: 1 }) };
    const sources = `/advertisers/${id}/event-sources`;
    expect((await api.post(`${sources}/sync`, { ...to, event_sources: [source] })).status).toBe(200);
    const { eventSources } = (await api.get<{ eventSources: { mapping: object }[] }>(sources)).body.data;
    expect(eventSources[0]?.mapping).toEqual(free({ constructor: 1 }));
    const item = { id: 'a', title: 'A', ...free('x') };
    const catalog = { catalog_id: 'shop', type: 'product', items: [item] };
    const synced = await api.post(`/advertisers/${id}/catalogs/sync`, { ...to, catalogs: [catalog] });
    expect([synced.status, synced.text]).toEqual([200, expect.stringContaining('"created"')]);
    expect(({} as Record<string, unknown>)['polluted']).toBeUndefined();
  });

  it('may have thousands of unknown members', async () => {
    const many = Object.fromEntries(Array.from({ length: 20_000 }, (_, n) => [`m${n}`, n]));
    const answer = await account.api.post('/advertisers', { name: 'Acme', unknown: many, ...many });
    expect(answer.status).toBe(201);
  });

  it.each([33, 6_000, 170_000])('nested %i levels are refused immediately, in any member', async (depth) => {
    for (const member of ['labels', 'controls', 'unknown']) {
      for (const [open, close] of [
        ['[', ']'],
        ['{"a":', '}'],
      ] as const) {
        const value = open.repeat(depth) + '1' + close.repeat(depth);
        const startedAt = performance.now();
        const answer = await create(`{"name":"Acme","${member}":${value}}`);
        expect([answer.status, answer.body.error?.code === undefined]).toEqual([400, false]);
        expect(performance.now() - startedAt).toBeLessThan(10_000);
      }
    }
  });

  it('return any valid text unchanged', async () => {
    const strange =
      '\u0001\u007f\u0085\u2028\ufffe\u202e\u200b\ufeff e\u0301 \u{10ffff} "\\/\b\f\n\r\t \'; drop table advertisers; -- ${x} {{y}} <svg/onload=1>';
    const sent = { name: strange, description: strange, labels: { [strange]: [strange] } };
    const { body } = await account.api.post<AdvertiserResource>('/advertisers', sent);
    expect(body.data).toMatchObject(sent);
    expect((await account.api.get(`/advertisers/${body.data.id}`)).body.data).toEqual(body.data);
    expect((await account.api.get(`/advertisers?name=${encodeURIComponent(strange)}`)).body.data).toEqual([
      body.data,
    ]);
  });

  it.each([true, false])('of more than 1 MiB are 413 (announced: %s)', async (announced) => {
    const bytes = Buffer.alloc(1_048_577, ' ');
    const head = `POST ${path} HTTP/1.1\r\nHost: a\r\nAuthorization: Bearer ${account.apiKey}\r\nContent-Type: application/json\r\n`;
    const { first, reset } = await rawExchange(
      service.port,
      (socket) => {
        if (announced) socket.write(`${head}Content-Length: ${bytes.length}\r\n\r\n`);
        else socket.write(`${head}Transfer-Encoding: chunked\r\n\r\n${bytes.length.toString(16)}\r\n`);
        socket.write(bytes);
        if (!announced) socket.write('\r\n0\r\n\r\n');
      },
      { silenceMs: 1_500 },
    );
    expect([first.status, reset, JSON.parse(first.body)]).toMatchObject([
      413,
      false,
      { data: null, error: { code: 'PAYLOAD_TOO_LARGE' } },
    ]);
  });
});
