import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { sleep } from '../../shared/async/backoff.ts';
import { rawExchange } from '../support/raw-http.ts';
import { startToyService, type ToyService } from '../support/toy-service.ts';

let toys: ToyService;
beforeAll(async () => {
  toys = await startToyService();
});
beforeEach(() => {
  toys.seen.length = 0;
  toys.logLines.length = 0;
});
afterAll(async () => {
  await toys.server.drain();
});

const echo = (headers: string, body = ''): string => `POST /echo HTTP/1.1\r\n${headers}\r\n\r\n${body}`;
const json = 'Content-Type: application/json';
const value = '{"value":1}';
const chunkedValue = 'b\r\n{"value":1}\r\n0\r\n\r\n';

describe('ambiguous requests', () => {
  it.each([
    ['two hosts', echo(`Host: a\r\nHost: b\r\n${json}\r\nContent-Length: 11`, value)],
    [
      'two hosts, one far behind',
      echo(`Host: a\r\n${'a:\r\n'.repeat(2_500)}Host: b\r\n${json}\r\nContent-Length: 11`, value),
    ],
    ['no host', echo(`${json}\r\nContent-Length: 11`, value)],
    ['an unknown transfer coding', echo(`Host: a\r\n${json}\r\nTransfer-Encoding: xchunked`, chunkedValue)],
    ['two codings', echo(`Host: a\r\n${json}\r\nTransfer-Encoding: gzip, chunked`, chunkedValue)],
    [
      'chunked twice',
      echo(`Host: a\r\n${json}\r\nTransfer-Encoding: chunked\r\nTransfer-Encoding: chunked`, chunkedValue),
    ],
    ['identity', echo(`Host: a\r\n${json}\r\nTransfer-Encoding: identity`, chunkedValue)],
    [
      'length and chunks',
      echo(`Host: a\r\n${json}\r\nContent-Length: 11\r\nTransfer-Encoding: chunked`, chunkedValue),
    ],
    ['two lengths', echo(`Host: a\r\n${json}\r\nContent-Length: 11\r\nContent-Length: 12`, value)],
    ['two equal lengths', echo(`Host: a\r\n${json}\r\nContent-Length: 11\r\nContent-Length: 11`, value)],
    ['a list of lengths', echo(`Host: a\r\n${json}\r\nContent-Length: 11, 11`, value)],
    ['a signed length', echo(`Host: a\r\n${json}\r\nContent-Length: +11`, value)],
    ['a negative length', echo(`Host: a\r\n${json}\r\nContent-Length: -11`, value)],
    ['a length in hexadecimal', echo(`Host: a\r\n${json}\r\nContent-Length: 0xb`, value)],
    [
      'a coding behind a tab and another character',
      echo(`Host: a\r\n${json}\r\nTransfer-Encoding: \x0bchunked`, chunkedValue),
    ],
    ['a quoted coding', echo(`Host: a\r\n${json}\r\nTransfer-Encoding: "chunked"`, chunkedValue)],
    [
      'chunked and then another',
      echo(`Host: a\r\n${json}\r\nTransfer-Encoding: chunked, gzip`, chunkedValue),
    ],
    ['chunked with a parameter', echo(`Host: a\r\n${json}\r\nTransfer-Encoding: chunked;a=b`, chunkedValue)],
    ['an empty coding', echo(`Host: a\r\n${json}\r\nTransfer-Encoding:`, chunkedValue)],
    [
      'a coding with a space in its name',
      echo(`Host: a\r\n${json}\r\nTransfer Encoding: chunked`, chunkedValue),
    ],
    [
      'chunks in HTTP/1.0',
      echo(`Host: a\r\n${json}\r\nTransfer-Encoding: chunked`, chunkedValue).replace('HTTP/1.1', 'HTTP/1.0'),
    ],
    ['lines that end in LF', echo(`Host: a\n${json}\nContent-Length: 11`, value)],
    ['a CR alone in a header', echo(`Host: a\r\nX-A: b\rX-B: c\r\n${json}\r\nContent-Length: 11`, value)],
    [
      'a chunk with a sign',
      echo(`Host: a\r\n${json}\r\nTransfer-Encoding: chunked`, '+b\r\n{"value":1}\r\n0\r\n\r\n'),
    ],
    [
      'a chunk with a prefix',
      echo(`Host: a\r\n${json}\r\nTransfer-Encoding: chunked`, '0xb\r\n{"value":1}\r\n0\r\n\r\n'),
    ],
    [
      'a chunk longer than it says',
      echo(`Host: a\r\n${json}\r\nTransfer-Encoding: chunked`, 'a\r\n{"value":1}\r\n0\r\n\r\n'),
    ],
    ['a list of hosts', echo(`Host: a, b\r\n${json}\r\nContent-Length: 11`, value)],
    ['a host with a path', echo(`Host: a/b\r\n${json}\r\nContent-Length: 11`, value)],
    ['a host with a user', echo(`Host: a@b\r\n${json}\r\nContent-Length: 11`, value)],
    ['a host with a space', echo(`Host: a b\r\n${json}\r\nContent-Length: 11`, value)],
    [
      'another host in the request line',
      `POST http://b/echo HTTP/1.1\r\nHost: a\r\n${json}\r\nContent-Length: 11\r\n\r\n${value}`,
    ],
    [
      'a user in the request line',
      `POST http://a@b/echo HTTP/1.1\r\nHost: b\r\n${json}\r\nContent-Length: 11\r\n\r\n${value}`,
    ],
    ['a folded header', echo(`Host: a\r\n${json}\r\nX-A: b\r\n c\r\nContent-Length: 11`, value)],
    ['a space before the colon', echo(`Host: a\r\n${json}\r\nContent-Length : 11`, value)],
    ['a NUL in a header', echo(`Host: a\r\nX-A: \0\r\n${json}\r\nContent-Length: 11`, value)],
    ['no request at all', 'hello\r\n\r\n'],
    ['a TLS hello', '\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03\r\n\r\n'],
    ['an unknown version', 'GET /toys HTTP/9.9\r\nHost: a\r\n\r\n'],
    ['a space in the path', 'GET /to ys HTTP/1.1\r\nHost: a\r\n\r\n'],
    [
      'a bad chunk size',
      echo(`Host: a\r\n${json}\r\nTransfer-Encoding: chunked`, 'zz\r\n{"value":1}\r\n0\r\n\r\n'),
    ],
  ])('%s: 400 in the envelope, no handler runs, the connection is closed', async (_what, bytes) => {
    const { answers, first, closed, reset } = await rawExchange(toys.port, Buffer.from(bytes, 'latin1'), {
      silenceMs: 2_500,
    });
    expect(answers.map(({ status }) => status)).toEqual([400]);
    expect(JSON.parse(first.body)).toEqual({
      data: null,
      error: { code: 'BAD_REQUEST', message: expect.any(String) },
    });
    expect(first.headers).toMatchObject({
      'content-type': 'application/json; charset=utf-8',
      connection: 'close',
      'x-request-id': expect.stringMatching(/^[0-9a-f-]{36}$/),
    });
    expect([toys.seen, closed, reset]).toEqual([[], true, false]);
    const logged = { requestId: first.headers['x-request-id'], status: 400 };
    const isLogged = (): boolean => toys.logLines.some(({ requestId }) => requestId === logged.requestId);
    while (!isLogged()) await sleep(10);
    expect(toys.logLines).toContainEqual(expect.objectContaining(logged));
  });

  it('a pipelined request after an ambiguous one is not read', async () => {
    const { answers } = await rawExchange(
      toys.port,
      echo(`Host: a\r\nHost: b\r\n${json}\r\nContent-Length: 11`, value) +
        echo(`Host: a\r\n${json}\r\nContent-Length: 11`, value),
      { silenceMs: 2_500 },
    );
    expect([answers.length, toys.seen]).toEqual([1, []]);
  });

  it('a pipelined request after a refused, unread body is not read', async () => {
    const refused = `POST /toys HTTP/1.1\r\nHost: a\r\n${json}\r\nTransfer-Encoding: chunked\r\n\r\n${chunkedValue}`;
    const { answers, first } = await rawExchange(
      toys.port,
      refused + echo(`Host: a\r\n${json}\r\nContent-Length: 11`, value),
      { silenceMs: 2_500 },
    );
    expect([answers.length, first.status, toys.seen]).toEqual([1, 401, []]);
  });

  it.each(['a', 'a.test:8080', 'A_b.test.', '127.0.0.1', '[::1]:3000', ''])(
    'a host is accepted: %j',
    async (host) => {
      const { first } = await rawExchange(toys.port, `GET /toys/newest HTTP/1.1\r\nHost: ${host}\r\n\r\n`);
      expect(first.status).toBe(200);
    },
  );

  it('their answers contain the security headers', async () => {
    for (const bytes of ['hello\r\n\r\n', 'GET /toys/newest HTTP/1.1\r\nHost: a\r\nHost: b\r\n\r\n']) {
      const { first } = await rawExchange(toys.port, bytes);
      expect(first.headers).toMatchObject({
        'content-security-policy': "default-src 'none';frame-ancestors 'none'",
        'x-content-type-options': 'nosniff',
      });
      expect([first.headers['server'], first.headers['x-powered-by']]).toEqual([undefined, undefined]);
    }
  });

  it('HTTP/1.0 needs no host', async () => {
    const { first } = await rawExchange(toys.port, 'GET /toys/newest HTTP/1.0\r\n\r\n');
    expect(first.status).toBe(200);
  });

  it('an absolute target is accepted', async () => {
    const { first } = await rawExchange(
      toys.port,
      'GET http://A.test/toys/newest?a=1 HTTP/1.1\r\nHost: a.test\r\n\r\n',
    );
    expect(first.status).toBe(200);
  });

  it.each(['http://[::1/', 'HTTP://a:99999/toys', 'foo://xn--b.c/toys', '*'])(
    'the target %s is not a path: 404 in the envelope, with headers and a log line',
    async (target) => {
      const { first } = await rawExchange(toys.port, `GET ${target} HTTP/1.1\r\nHost: a\r\n\r\n`);
      expect([first.status, first.headers['x-content-type-options']]).toEqual([404, 'nosniff']);
      expect(JSON.parse(first.body)).toMatchObject({ data: null, error: { code: 'NOT_FOUND' } });
      expect(first.headers['x-request-id']).toBeDefined();
      expect(toys.logLines).toContainEqual(
        expect.objectContaining({ requestId: first.headers['x-request-id'], status: 404 }),
      );
    },
  );
});

describe('headers', () => {
  it.each([17_000, 100_000])('of %i bytes are 431 in the envelope', async (bytes) => {
    const { first, reset } = await rawExchange(
      toys.port,
      `GET /toys HTTP/1.1\r\nHost: a\r\nX-A: ${'a'.repeat(bytes)}\r\n\r\n`,
      { silenceMs: 1_500 },
    );
    expect([first.status, reset]).toEqual([431, false]);
    expect(JSON.parse(first.body)).toMatchObject({ data: null, error: { code: 'BAD_REQUEST' } });
  });

  it('of 3,000 lines are accepted', async () => {
    const { first } = await rawExchange(
      toys.port,
      `GET /toys/newest HTTP/1.1\r\nHost: a\r\n${'a:\r\n'.repeat(3_000)}\r\n`,
    );
    expect(first.status).toBe(200);
  });

  it.each([
    'Upgrade: websocket\r\nConnection: Upgrade',
    'Expect: 200-ok',
    'Range: bytes=0-1',
    'If-None-Match: *',
  ])('for unsupported features are ignored: %j', async (header) => {
    const { first } = await rawExchange(
      toys.port,
      `GET /toys/newest HTTP/1.1\r\nHost: a\r\n${header}\r\n\r\n`,
    );
    expect(first.status).toBe(200);
  });

  it('CONNECT is refused in the envelope', async () => {
    const { first } = await rawExchange(toys.port, 'CONNECT a.test:443 HTTP/1.1\r\nHost: a.test:443\r\n\r\n');
    expect([first.status, JSON.parse(first.body)]).toMatchObject([
      405,
      { error: { code: 'METHOD_NOT_ALLOWED' } },
    ]);
  });

  it('many requests in one write are answered in order', async () => {
    const one = (id: number): string =>
      `GET /campaigns/c${id}/slow?forMs=${30 - id} HTTP/1.1\r\nHost: a\r\n\r\n`;
    const { answers } = await rawExchange(toys.port, Array.from({ length: 20 }, (_, id) => one(id)).join(''));
    expect(answers.map(({ body }) => (JSON.parse(body) as { data: { id: string } }).data.id)).toEqual(
      Array.from({ length: 20 }, (_, id) => `c${id}`),
    );
  });
});
