import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { rawExchange } from '../support/raw-http.ts';
import { authorized, envelopeOf, refusal, toyClient } from '../support/toy-client.ts';
import { goodKey, startToyService, type ToyService } from '../support/toy-service.ts';

let toys: ToyService;
beforeAll(async () => {
  toys = await startToyService();
});
afterAll(async () => {
  await toys.server.drain();
});

const { call, post } = toyClient(() => toys);

describe('answers', () => {
  it('wrap data and prepared JSON in the envelope', async () => {
    const created = await post('/toys', '{"name":"Ä\\ud83d\\ude00"}');
    expect(created.status).toBe(201);
    expect(await created.text()).toBe('{"data":{"id":1,"name":"Ä😀"},"error":null}');
    expect(await (await call('GET', '/toys/3')).text()).toBe('{"data":{"id":3,"name":"toy"},"error":null}');
  });

  it('contain meta.pagination for offset-paged lists only', async () => {
    expect(await (await call('GET', '/toys?take=2&skip=9007199254740991')).json()).toEqual({
      data: [{ id: 1, name: 'all' }],
      error: null,
      meta: { pagination: { skip: 9007199254740991, take: 2, total: 1, hasMore: false } },
    });
  });

  it('do not reveal the software and have no ETag', async () => {
    const { headers } = await call('GET', '/toys/3');
    expect(headers.get('x-powered-by')).toBeNull();
    expect(headers.get('etag')).toBeNull();
  });

  it('have no body with 204', async () => {
    const answer = await call('DELETE', '/toys/3');
    expect([answer.status, await answer.text(), answer.headers.get('content-type')]).toEqual([204, '', null]);
  });

  it('to HEAD have the headers of GET and no body', async () => {
    const { first } = await rawExchange(
      toys.port,
      `HEAD /toys/3 HTTP/1.1\r\nHost: a\r\nAuthorization: Bearer ${goodKey}\r\n\r\n`,
      { toHead: true },
    );
    expect([first.status, first.headers['content-length'], first.body]).toEqual([200, '43', '']);
  });

  it('repeat a safe request id of the client, and create one otherwise', async () => {
    const idOf = async (inbound: string): Promise<string | null> =>
      (await call('GET', '/toys/3', { ...authorized, 'X-Request-Id': inbound })).headers.get('x-request-id');
    expect(await idOf('req_1.a-B')).toBe('req_1.a-B');
    expect(await idOf('a'.repeat(128))).toBe('a'.repeat(128));
    for (const unsafe of ['a'.repeat(129), 'a b', '"}', 'ä']) {
      expect(await idOf(unsafe)).toMatch(/^[0-9a-f-]{36}$/);
    }
  });
});

describe('paths and methods', () => {
  it.each(['/nothing', '/toys/', '/TOYS', '/toys/3/', '//toys', '/toys/3/more'])(
    'an unknown path is 404, asked by anyone: %s',
    async (path) => {
      const answer = await call('GET', path, {});
      expect(await refusal(answer)).toEqual([404, 'NOT_FOUND', undefined]);
      expect(answer.headers.get('x-request-id')).not.toBeNull();
    },
  );

  it.each([
    ['PUT', '/toys', 'GET, POST, HEAD, OPTIONS'],
    ['PATCH', '/toys/3', 'GET, DELETE, HEAD, OPTIONS'],
    ['POST', '/toys/newest', 'GET, HEAD, OPTIONS'],
    ['GET', '/echo', 'POST, OPTIONS'],
    ['HEAD', '/echo', 'POST, OPTIONS'],
  ])('%s %s is 405 with Allow', async (method, path, allow) => {
    const answer = await call(method, path, { 'X-HTTP-Method-Override': 'GET' });
    expect([answer.status, answer.headers.get('allow')]).toEqual([405, allow]);
    if (method !== 'HEAD') expect((await refusal(answer))[1]).toBe('METHOD_NOT_ALLOWED');
  });

  it('OPTIONS is 204 with Allow, without a credential', async () => {
    const answer = await call('OPTIONS', '/toys', {});
    expect([answer.status, answer.headers.get('allow'), await answer.text()]).toEqual([
      204,
      'GET, POST, HEAD, OPTIONS',
      '',
    ]);
  });

  it('TRACE is refused like any other method', async () => {
    const { first } = await rawExchange(toys.port, 'TRACE /toys HTTP/1.1\r\nHost: a\r\n\r\n');
    expect([first.status, first.headers['allow']]).toEqual([405, 'GET, POST, HEAD, OPTIONS']);
  });

  it('a fixed path takes precedence over a parameter', async () => {
    expect(await (await call('GET', '/toys/newest', {})).json()).toMatchObject({ data: { name: 'newest' } });
  });

  it.each(['0', '-1', '01', '1.0', '1e3', '0x10', '2147483648', '4294967297', '%31%00', '%D9%A1', 'NaN'])(
    'an integer id of another form is 400 with its name: %s',
    async (id) => {
      expect(await refusal(await call('GET', `/toys/${id}`))).toEqual([400, 'VALIDATION_ERROR', 'id']);
    },
  );

  it('an integer id up to 2147483647 is accepted', async () => {
    expect((await call('GET', '/toys/2147483647')).status).toBe(200);
  });

  it.each(['%', '%E0%A4%A', '%ED%A0%80', '%zz'])(
    'broken percent-encoding in a path is 400: %s',
    async (id) => {
      const { first } = await rawExchange(
        toys.port,
        `GET /campaigns/${id}/slow HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n`,
      );
      expect([first.status, JSON.parse(first.body)]).toMatchObject([400, { error: { code: 'BAD_REQUEST' } }]);
    },
  );

  it('U+0000 in a text id is an unknown id', async () => {
    expect(await refusal(await call('GET', '/campaigns/a%00/slow'))).toEqual([404, 'NOT_FOUND', undefined]);
  });
});

describe('failures', () => {
  const failing = (kind: string): Promise<Response> => post(`/failures/${kind}`, '');

  it.each(['bug', 'text'])('a %s is 500, and its message is only in the log', async (kind) => {
    const answer = await failing(kind);
    const requestId = answer.headers.get('x-request-id');
    const { error } = await envelopeOf(answer);
    expect([answer.status, error?.code]).toEqual([500, 'INTERNAL_ERROR']);
    expect(JSON.stringify(error)).not.toMatch(/hunter2|rejected|Error:/);
    expect(toys.logLines).toContainEqual(
      expect.objectContaining({ requestId, msg: 'request failed', err: expect.anything() }),
    );
  });

  it.each(['store', 'socket'])('an unreachable %s is 503 with Retry-After', async (kind) => {
    const answer = await failing(kind);
    expect(await refusal(answer)).toEqual([503, 'SERVICE_UNAVAILABLE', undefined]);
    expect(answer.headers.get('retry-after')).toBe('1');
  });

  it('a refusal contains its details and headers', async () => {
    const answer = await failing('refusal');
    expect([answer.status, answer.headers.get('x-toy')]).toEqual([409, '1']);
    expect(await answer.json()).toEqual({
      data: null,
      error: { code: 'CONFLICT', message: 'No.', details: { limit: 3 } },
    });
  });
});

describe('the checks of these tests', () => {
  it('find no deviation from the declared responses so far', () => {
    expect(toys.check.problems).toEqual([]);
  });

  it('find an undeclared member', async () => {
    await post('/failures/two-faced', '');
    expect(toys.check.problems.splice(0)).toEqual([
      expect.stringContaining('fail 200: members that are not declared'),
    ]);
  });
});

describe('the log', () => {
  it('has one line per request, without data of the client', async () => {
    const secret = 'canary-6f2d';
    await post(`/toys?token=${secret}`, `{"name":"${secret}"}`, { Cookie: secret, 'X-Request-Id': 'log-1' });
    await call('GET', `/unknown-${secret}%0a{}`, {
      Authorization: `Bearer ${secret}`,
      'X-Request-Id': 'log-2',
    });
    await call('GET', '/toys/3', { Authorization: `Bearer ${secret}`, 'X-Request-Id': 'log-3' });
    await new Promise((resolve) => setTimeout(resolve, 50));
    const lines = toys.logLines.filter(({ requestId }) => String(requestId).startsWith('log-'));
    expect(lines).toEqual([
      expect.objectContaining({
        requestId: 'log-1',
        account: 7,
        method: 'POST',
        route: '/toys',
        status: 201,
        durationMs: expect.any(Number),
      }),
      expect.objectContaining({ requestId: 'log-2', account: 0, route: 'unknown', status: 404 }),
      expect.objectContaining({ requestId: 'log-3', account: 0, route: '/toys/{id}', status: 401 }),
    ]);
    expect(JSON.stringify(toys.logLines)).not.toContain(secret);
  });
});
