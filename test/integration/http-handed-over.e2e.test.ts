import type { IncomingMessage, ServerResponse } from 'node:http';
import { afterEach, describe, expect, it } from '@jest/globals';
import { ApiError } from '../../shared/http/errors.ts';
import type { HandedOverContext, HandedOverRoute } from '../../shared/http/route.ts';
import { specifiedLimits } from '../../shared/limits/limits.ts';
import { createToyOrigins, ownAppOrigin } from '../support/toy-origins.ts';
import { rawExchange } from '../support/raw-http.ts';
import { until } from '../support/until.ts';
import { goodKey, startToyService, type ToyOptions, type ToyService } from '../support/toy-service.ts';

let toys: ToyService | undefined;
afterEach(async () => {
  await toys?.server.drain();
  toys = undefined;
});

const seen: HandedOverContext[] = [];

const handedOver = (more: Partial<HandedOverRoute> = {}): HandedOverRoute => ({
  method: 'post',
  path: '/auth/token',
  operationId: 'issueToken',
  summary: 'Tokens',
  tag: 'OAuth',
  access: 'public',
  limit: 'token',
  errors: 'oauth',
  serve: (_request, response, context) => {
    seen.push(context);
    response.setHeader('Content-Type', 'application/json');
    response.end('{"ok":true}');
  },
  ...more,
});

const start = async (route: Partial<HandedOverRoute> = {}, options: ToyOptions = {}): Promise<string> => {
  seen.length = 0;
  toys = await startToyService({ limits: specifiedLimits, routes: [handedOver(route)], ...options });
  return toys.url;
};

const post = (url: string, headers: Record<string, string> = {}, body = 'grant_type=x'): Promise<Response> =>
  fetch(`${url}/auth/token`, { method: 'POST', headers, body });

const headed = {
  'x-request-id': 'handed-1',
  'content-security-policy': "default-src 'none';frame-ancestors 'none'",
  'strict-transport-security': 'max-age=31536000; includeSubDomains',
  'x-content-type-options': 'nosniff',
  'ratelimit-limit': '300',
  'ratelimit-remaining': '299',
  'ratelimit-reset': '900',
};
const id = { 'X-Request-Id': 'handed-1' };

describe('a route that is handed over', () => {
  it('is answered by its answerer, counted by its limit, headed and logged', async () => {
    const answer = await post(await start(), { ...id, 'User-Agent': 'Toy/1' });
    expect([answer.status, await answer.text()]).toEqual([200, '{"ok":true}']);
    expect(Object.fromEntries(answer.headers)).toMatchObject(headed);
    expect(
      seen.map(({ requestId, principal, client }) => [requestId, principal.customerId, client.agent]),
    ).toEqual([['handed-1', 0, 'Toy/1']]);
    await toys?.server.drain();
    expect(toys?.logLines).toContainEqual(
      expect.objectContaining({ requestId: 'handed-1', route: '/auth/token', method: 'POST', status: 200 }),
    );
  });

  it('reads its own body, also of a client that waits for 100 Continue', async () => {
    const serve = async (request: IncomingMessage, response: ServerResponse): Promise<void> => {
      const chunks: string[] = [];
      for await (const chunk of request) chunks.push(String(chunk));
      response.end(chunks.join(''));
    };
    expect(await (await post(await start({ serve }), {}, 'a=b')).text()).toBe('a=b');
    const { answers } = await rawExchange(toys?.port ?? 0, (socket) => {
      socket.write(
        'POST /auth/token HTTP/1.1\r\nHost: a\r\nExpect: 100-continue\r\nContent-Length: 3\r\n\r\n',
      );
      socket.once('data', () => socket.write('c=d'));
    });
    expect(answers.map(({ status, body }) => [status, status === 100 ? '' : body])).toEqual([
      [100, ''],
      [200, 'c=d'],
    ]);
  });

  it.each([
    ['end', (response: ServerResponse) => response.end()],
    ['writeHead', (response: ServerResponse) => response.writeHead(500, { 'X-Own': '1' }).end()],
    ['write', (response: ServerResponse) => response.write('x') && response.end()],
    [
      'flushHeaders',
      (response: ServerResponse) => {
        response.flushHeaders();
        response.end();
      },
    ],
  ])('has its headers although the answerer removed them: %s', async (_how, answer) => {
    const url = await start({
      serve: (_request, response) => {
        for (const name of response.getHeaderNames()) response.removeHeader(name);
        answer(response);
      },
    });
    expect(Object.fromEntries((await post(url, id)).headers)).toMatchObject(headed);
  });

  it('may replace a header', async () => {
    const url = await start({
      serve: (_request, response) => void response.writeHead(200, { 'Content-Security-Policy': 'x' }).end(),
    });
    expect((await post(url)).headers.get('content-security-policy')).toBe('x');
  });

  it('announces the end of its connection when the service stops, although the answerer removed that', async () => {
    let finish: (() => void) | undefined;
    const url = await start({
      serve: (_request, response) => {
        finish = () => {
          for (const name of response.getHeaderNames()) response.removeHeader(name);
          response.end('last');
        };
      },
    });
    const asked = post(url, id);
    await until(async () => finish !== undefined);
    const drained = toys?.server.drain();
    finish?.();
    const { headers } = await asked;
    expect(Object.fromEntries(headers)).toMatchObject({ ...headed, connection: 'close' });
    await drained;
  });

  it('has no deadline', async () => {
    const url = await start({
      serve: (_request, response) => void setTimeout(() => response.end('late'), 3_200),
    });
    expect(await (await post(url)).text()).toBe('late');
  });

  it('has a principal if it needs a credential, and each method its own route', async () => {
    const origins = createToyOrigins();
    const url = await start(
      { path: '/rpc', access: 'exchange:read', limit: 'credential', errors: 'envelope' },
      { origins },
    );
    const send = (credential: string, method = 'POST') =>
      fetch(`${url}/rpc`, {
        method,
        headers: { Authorization: `Bearer ${credential}`, Origin: ownAppOrigin },
      });
    const answer = await send(goodKey);
    expect([answer.status, answer.headers.get('access-control-allow-origin')]).toEqual([200, ownAppOrigin]);
    expect(seen[0]?.principal).toMatchObject({ kind: 'api-key', actor: 'api-key:toy' });
    const refused = await send('unknown');
    expect([refused.status, await refused.json()]).toMatchObject([401, { error: { code: 'UNAUTHORIZED' } }]);
    const other = await send(goodKey, 'GET');
    expect([other.status, other.headers.get('allow')]).toEqual([405, 'POST, OPTIONS']);
    expect(seen.length).toBe(1);
  });

  it('is listed in the OpenAPI document', async () => {
    const document = (await (await fetch(`${await start()}/openapi.json`)).json()) as {
      paths: Record<string, unknown>;
      components: { schemas: Record<string, unknown> };
    };
    expect(document.paths['/auth/token']).toMatchObject({
      post: {
        operationId: 'issueToken',
        security: [],
        responses: {
          429: { content: { 'application/json': { schema: { $ref: '#/components/schemas/OAuthError' } } } },
        },
      },
    });
    expect(document.components.schemas['OAuthError']).toBeDefined();
  });
});

describe('before a request is handed over', () => {
  const oauth = async (answer: Response) => [
    answer.status,
    answer.headers.get('content-type'),
    await answer.json(),
  ];

  it('request 301 is refused in the form of OAuth, with the headers of the limit', async () => {
    const url = await start();
    for (let n = 1; n <= 300; n++) {
      const { status, headers } = await post(url);
      expect([status, headers.get('ratelimit-remaining')]).toEqual([200, String(300 - n)]);
    }
    const over = await post(url, id);
    expect(await oauth(over.clone())).toEqual([
      429,
      'application/json; charset=utf-8',
      { error: 'slow_down', error_description: expect.stringContaining('300') },
    ]);
    expect(Object.fromEntries(over.headers)).toMatchObject({
      ...headed,
      'ratelimit-remaining': '0',
      'ratelimit-reset': over.headers.get('retry-after'),
    });
    expect(seen.length).toBe(300);
  });

  it('a failed lookup is 503 in the form of OAuth', async () => {
    const url = await start({ access: 'exchange:read' });
    const answer = await post(url, { Authorization: 'Bearer broken-store' });
    expect(answer.headers.get('retry-after')).toBe('1');
    expect(await oauth(answer)).toEqual([
      503,
      'application/json; charset=utf-8',
      { error: 'temporarily_unavailable', error_description: expect.any(String) },
    ]);
    expect(seen).toEqual([]);
  });

  it('and after a failure of the answerer, a defect is not described', async () => {
    const url = await start({ serve: () => Promise.reject(new Error('hunter2')) });
    expect(await oauth(await post(url))).toEqual([
      500,
      'application/json; charset=utf-8',
      { error: 'server_error', error_description: expect.not.stringContaining('hunter2') },
    ]);
  });

  it('a refusal of the answerer keeps its status and headers', async () => {
    const refusal = new ApiError({ code: 'FORBIDDEN', message: 'Say "please".' }, { 'X-Toy': '1' });
    const answer = await post(await start({ serve: () => Promise.reject(refusal) }));
    expect(answer.headers.get('x-toy')).toBe('1');
    expect(await oauth(answer)).toEqual([
      403,
      'application/json; charset=utf-8',
      { error: 'access_denied', error_description: "Say 'please'." },
    ]);
  });
});

describe('OPTIONS of its path', () => {
  it('is answered like for other paths, and counted for the address', async () => {
    const answer = await fetch(`${await start()}/auth/token`, { method: 'OPTIONS' });
    expect([answer.status, answer.headers.get('allow'), answer.headers.get('ratelimit-limit')]).toEqual([
      204,
      'POST, OPTIONS',
      '100',
    ]);
  });

  it('may be handed over, and is counted for the address, too', async () => {
    const answer = await fetch(`${await start({ method: 'options' })}/auth/token`, { method: 'OPTIONS' });
    expect([answer.status, answer.headers.get('ratelimit-limit')]).toEqual([200, '100']);
  });
});
