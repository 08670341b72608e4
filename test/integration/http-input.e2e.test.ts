import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { rawExchange } from '../support/raw-http.ts';
import { authorized, envelopeOf, refusal, toyClient } from '../support/toy-client.ts';
import { goodKey, startToyService, type ToyService } from '../support/toy-service.ts';

let toys: ToyService;
beforeAll(async () => {
  toys = await startToyService();
});
beforeEach(() => {
  toys.seen.length = 0;
});
afterAll(async () => {
  expect(toys.check.problems).toEqual([]);
  await toys.server.drain();
});

const { call, post } = toyClient(() => toys);

describe('credentials', () => {
  const challenge =
    'Bearer realm="buyer-exchange", resource_metadata="https://exchange.test/.well-known/oauth-protected-resource"';

  it.each([{}, { Authorization: 'Basic dXNlcjpwYXNz' }, { Cookie: 'session=1' }])(
    'none: 401 with the challenge and no error in it (%j)',
    async (headers: Record<string, string>) => {
      const answer = await call('GET', '/toys/3', headers);
      expect(await refusal(answer)).toEqual([401, 'UNAUTHORIZED', undefined]);
      expect(answer.headers.get('www-authenticate')).toBe(challenge);
    },
  );

  it.each(['Bearer', 'Bearer ', 'Bearer unknown', 'Bearer a b', 'Bearer "x"', `Bearer ${'a'.repeat(5000)}`])(
    'rejected: 401 with invalid_token (%.20s)',
    async (authorization) => {
      const answer = await call('GET', '/toys/3', { Authorization: authorization });
      expect(await refusal(answer)).toEqual([401, 'UNAUTHORIZED', undefined]);
      expect(answer.headers.get('www-authenticate')).toBe(`${challenge}, error="invalid_token"`);
    },
  );

  it.each(['bearer', 'BEARER', 'Bearer  '])(
    'the scheme has no case, and spaces may be several: %s',
    async (scheme) => {
      expect((await call('GET', '/toys/3', { Authorization: `${scheme} ${goodKey}` })).status).toBe(200);
    },
  );

  it('two Authorization headers are refused', async () => {
    const { first } = await rawExchange(
      toys.port,
      `GET /toys/3 HTTP/1.1\r\nHost: a\r\nAuthorization: Bearer ${goodKey}\r\nAuthorization: Bearer x\r\n\r\n`,
    );
    expect(first.status).toBe(401);
  });

  it('an unavailable store of credentials is 503', async () => {
    const answer = await call('GET', '/toys/3', { Authorization: 'Bearer broken-store' });
    expect(await refusal(answer)).toEqual([503, 'SERVICE_UNAVAILABLE', undefined]);
    expect(answer.headers.get('retry-after')).toBe('1');
  });

  it('are checked before the rest of the request', async () => {
    const answer = await fetch(`${toys.url}/toys`, {
      method: 'POST',
      body: '{',
      headers: { 'Idempotency-Key': 'x' },
    });
    expect(answer.status).toBe(401);
  });
});

describe('query strings', () => {
  it.each([
    ['take=0', 'take'],
    ['take=201', 'take'],
    ['take=-1', 'take'],
    ['take=1.0', 'take'],
    ['take=1e1', 'take'],
    ['take=%201', 'take'],
    ['take=050', 'take'],
    ['take=', 'take'],
    ['take', 'take'],
    ['take=1&take=1', 'take'],
    ['skip=9007199254740992', 'skip'],
    ['skip=-1', 'skip'],
    ['skip=1e21', 'skip'],
    ['take=1&limit=2', 'limit'],
    ['skip=1&offset=2', 'offset'],
    ['archived=1', 'archived'],
    ['archived=TRUE', 'archived'],
    ['name=', 'name'],
    ['name=a%00', 'name'],
    ['name=a&name=b', 'name'],
  ])('%s is 400 with the parameter', async (query, field) => {
    expect(await refusal(await call('GET', `/toys?${query}`))).toEqual([400, 'VALIDATION_ERROR', field]);
  });

  it.each(['name=%', 'name=%E0%A4%A', 'name=%ED%A0%80', 'other=%zz'])(
    'broken percent-encoding is 400: %s',
    async (query) => {
      expect(await refusal(await call('GET', `/toys?${query}`))).toEqual([400, 'BAD_REQUEST', undefined]);
    },
  );

  it.each([
    'take=200&limit=200&skip=0&offset=0',
    'unknown=1&unknown=2&__proto__=1&constructor=2&__proto__[take]=0&take[]=0',
    'archived=false&&',
  ])('%s is accepted', async (query) => {
    expect((await call('GET', `/toys?${query}`)).status).toBe(200);
  });

  it('decode + and percent-encoding', async () => {
    const answer = await call('GET', '/toys?name=a+b%2B%C3%A4&archived=true');
    expect(await answer.json()).toMatchObject({ data: [{ id: 2, name: 'a b+ä' }] });
  });
});

describe('idempotency keys', () => {
  const key = 'a.b:c_d-e0123456';
  it.each(['a'.repeat(15), 'a'.repeat(256), `${key} `.padEnd(30, '"'), `"${key}"`, `${key}é`, ''])(
    'of another form are refused: %.20s',
    async (bad) => {
      const answer = await post('/toys', '{"name":"a"}', { 'Idempotency-Key': bad });
      expect(await refusal(answer)).toEqual([400, 'VALIDATION_ERROR', 'Idempotency-Key']);
      expect(toys.seen).toEqual([]);
    },
  );

  it('sent twice are refused', async () => {
    const { first } = await rawExchange(
      toys.port,
      `DELETE /toys/3 HTTP/1.1\r\nHost: a\r\nAuthorization: Bearer ${goodKey}\r\nIdempotency-Key: ${key}\r\nidempotency-key: ${key}\r\n\r\n`,
    );
    expect([first.status, JSON.parse(first.body)]).toMatchObject([
      400,
      { error: { field: 'Idempotency-Key' } },
    ]);
  });

  it('of 16 to 255 characters are accepted on writes; reads ignore them', async () => {
    for (const good of [key, 'a'.repeat(16), 'a'.repeat(255)]) {
      expect((await post('/toys', '{"name":"a"}', { 'Idempotency-Key': good })).status).toBe(201);
    }
    expect((await call('GET', '/toys/3', { ...authorized, 'Idempotency-Key': 'x' })).status).toBe(200);
  });

  it('are checked before the body', async () => {
    const answer = await post('/toys', '{', { 'Idempotency-Key': 'x' });
    expect((await refusal(answer))[2]).toBe('Idempotency-Key');
  });
});

describe('validation', () => {
  it('names the first problem and lists all', async () => {
    const answer = await post(
      '/toys',
      '{"name":"","caps":[{"window":{"interval":0}},{"window":{"interval":"1"}}]}',
    );
    const { error } = await envelopeOf(answer);
    expect(error).toMatchObject({ code: 'VALIDATION_ERROR', field: 'name' });
    expect(error?.details?.issues).toEqual([
      { path: 'name', message: expect.any(String), code: 'too_small' },
      { path: 'caps.0.window.interval', message: expect.any(String), code: 'too_small' },
      { path: 'caps.1.window.interval', message: expect.any(String), code: 'invalid_type' },
    ]);
  });

  it.each(['[]', 'null', '1', '"a"', 'true', '{}'])('a body of another type is 400: %s', async (body) => {
    expect((await refusal(await post('/toys', body)))[1]).toBe('VALIDATION_ERROR');
  });

  it('an empty body counts as no body, with any headers', async () => {
    expect(await refusal(await post('/toys', ''))).toEqual([400, 'VALIDATION_ERROR', 'name']);
    expect(
      (await fetch(`${toys.url}/toys/3`, { headers: { ...authorized, 'Content-Type': 'application/json' } }))
        .status,
    ).toBe(200);
    const deleted = await fetch(`${toys.url}/toys/3`, {
      method: 'DELETE',
      headers: { ...authorized, 'Content-Type': 'application/json' },
    });
    expect(deleted.status).toBe(204);
  });

  it('counts code points', async () => {
    expect((await post('/toys', JSON.stringify({ name: '😀'.repeat(200) }))).status).toBe(201);
    expect((await post('/toys', JSON.stringify({ name: '😀'.repeat(201) }))).status).toBe(400);
  });
});
