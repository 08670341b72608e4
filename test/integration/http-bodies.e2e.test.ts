import { gzipSync } from 'node:zlib';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { rawExchange } from '../support/raw-http.ts';
import { refusal, toyClient } from '../support/toy-client.ts';
import { startToyService, type ToyService } from '../support/toy-service.ts';

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
const { post } = toyClient(() => toys);
const echo = (body: string | Uint8Array, headers?: Record<string, string>): Promise<Response> =>
  post('/echo', body, headers);
const badRequest = [400, 'BAD_REQUEST', undefined];

describe('content types', () => {
  it.each([
    'application/json',
    'Application/JSON ; charset=UTF-8',
    'application/json;charset="utf-8"',
    'application/json; charset=utf-8; profile=x',
    'application/json; profile="https://example.com/a;charset=latin1"; charset="UTF-8"',
    'application/json; charset="ut\\f-8"; v=1;',
    `application/json${'; \t'.repeat(500)}`,
  ])('%s is accepted', async (type) => {
    expect((await echo('{"value":1}', { 'Content-Type': type })).status).toBe(200);
  });

  it.each([
    'text/plain',
    'application/json; charset=utf-16',
    'application/json; charset=utf-7',
    'application/json; charset=latin1',
    'application/json; profile=x; charset="latin1"',
    'application/json; charset=utf-8; charset=utf-16',
    'application/json; charset=',
    'application/json; charset="utf-8',
    'application/json, text/plain',
    `application/json${';     '.repeat(500)}?`,
    'application/x-www-form-urlencoded',
    'application/jsonp',
    'application/vnd.api+json',
    '',
  ])('%s is 415', async (type) => {
    expect(await refusal(await echo('{"value":1}', { 'Content-Type': type }))).toEqual([
      415,
      'UNSUPPORTED_MEDIA_TYPE',
      undefined,
    ]);
    expect(toys.seen).toEqual([]);
  });

  it('a content encoding is 415, so there is no decompression bomb', async () => {
    const bomb = gzipSync(Buffer.alloc(50_000_000, ' '));
    expect((await refusal(await echo(bomb, { 'Content-Encoding': 'gzip' })))[0]).toBe(415);
    expect((await refusal(await echo('garbage', { 'Content-Encoding': 'gzip' })))[0]).toBe(415);
    expect((await echo('{"value":1}', { 'Content-Encoding': 'identity' })).status).toBe(200);
  });
});

describe('JSON', () => {
  it.each([
    '{',
    '{"value":1}x',
    '{"value":NaN}',
    '{"value":Infinity}',
    "{'value':1}",
    '{"value":1,}',
    ' ',
    '\ufeff{"value":1}',
    '{"value":"\u0000"}',
    '{"value":01}',
    'undefined',
  ])('%j is 400', async (body) => {
    expect(await refusal(await echo(body))).toEqual(badRequest);
  });

  it.each([
    ['a lone continuation byte', [0x80]],
    ['an overlong slash', [0xc0, 0xaf]],
    ['half a surrogate pair', [0xed, 0xa0, 0x80]],
    ['a cut sequence', [0xe2, 0x82]],
    ['beyond U+10FFFF', [0xf4, 0x90, 0x80, 0x80]],
  ])('bytes that are not UTF-8 are 400: %s', async (_what, bytes) => {
    const body = Buffer.concat([Buffer.from('{"value":"'), Buffer.from(bytes), Buffer.from('"}')]);
    expect(await refusal(await echo(body))).toEqual(badRequest);
  });

  it.each([
    ['{"value":"\\u0000"}', 'value'],
    ['{"value":"a\\ud800"}', 'value'],
    ['{"value":"\\udc00\\ud800"}', 'value'],
    ['{"value":{"a\\u0000":1}}', 'value.a'],
    ['{"value":[{"\\ud800":1}]}', 'value.0.\ufffd'],
    ['{"value":{"__proto__":{"polluted":true}}}', 'value.__proto__'],
    ['{"__proto__":{"polluted":true},"value":1}', '__proto__'],
    ['{"value":[1,{"constructor":{"__proto__":1}}]}', 'value.1.constructor.__proto__'],
    ['{"value":{"\\u005f_proto__":1}}', 'value.__proto__'],
    ['{"value":1e309}', 'value'],
    ['{"value":[0,-1e400]}', 'value.1'],
  ])('%s is 400 with its path', async (body, field) => {
    expect(await refusal(await echo(body))).toEqual([400, 'VALIDATION_ERROR', field]);
    expect(({} as Record<string, unknown>)['polluted']).toBeUndefined();
  });

  it.each([
    '{"value":"\\ud83d\\ude00\\uFFFE\\u202e"}',
    '{"value":{"":{"":1}}}',
    '{"value":5e-324}',
    '{"value":[[],{}]}',
    '{"value":{"constructor":1,"a":[{"prototype":1}]}}',
  ])('%s is accepted unchanged', async (body) => {
    expect(await (await echo(body)).json()).toEqual({ data: JSON.parse(body).value, error: null });
  });

  it('-0 is 0', async () => {
    expect(await (await echo('{"value":[-0,-0.0,0]}')).text()).toBe('{"data":[0,0,0],"error":null}');
  });

  it('the last of duplicate members counts', async () => {
    expect(await (await echo('{"value":1,"value":2}')).json()).toMatchObject({ data: 2 });
  });
});

describe('size', () => {
  const nested = (depth: number, open = '[', close = ']'): string =>
    `{"value":${open.repeat(depth - 1)}1${close.repeat(depth - 1)}}`;

  it('32 levels are accepted, 33 are refused', async () => {
    expect((await echo(nested(32))).status).toBe(200);
    expect((await refusal(await echo(nested(33))))[1]).toBe('VALIDATION_ERROR');
    expect((await refusal(await echo(nested(33, '{"a":', '}'))))[1]).toBe('VALIDATION_ERROR');
  });

  it.each([1_000, 6_000, 200_000])('%i levels are refused immediately', async (depth) => {
    for (const body of [nested(depth), nested(depth, '{"a":', '}'), '['.repeat(depth)]) {
      // The fastest of three, because the machine may be busy.
      const durationsMs: number[] = [];
      for (let round = 0; round < 3; round++) {
        const startedAt = performance.now();
        expect((await echo(body)).status).toBe(400);
        durationsMs.push(performance.now() - startedAt);
      }
      expect(Math.min(...durationsMs)).toBeLessThan(1_000);
    }
  });

  it('an object may have many members', async () => {
    const value = Object.fromEntries(Array.from({ length: 80_000 }, (_, n) => [`m${n}`, 0]));
    expect((await echo(JSON.stringify({ value }))).status).toBe(200);
  });

  it('half a million values are accepted', async () => {
    const body = `{"value":[1${',1'.repeat(500_000)},2]}`;
    expect(await (await echo(body)).text()).toMatch(/^\{"data":\[1,1,.*,2\],"error":null\}$/);
  });

  const head =
    'POST /toys HTTP/1.1\r\nHost: a\r\nAuthorization: Bearer toy_key.good~/+-_=\r\nContent-Type: application/json\r\n';

  it('a body that declares more than 1 MiB is 413 before it is read', async () => {
    const { first, closed, reset } = await rawExchange(
      toys.port,
      `${head}Content-Length: 1048577\r\n\r\n{"name":`,
      { silenceMs: 3_000 },
    );
    expect([first.status, first.headers['connection'], closed, reset]).toEqual([413, 'close', true, false]);
    expect(JSON.parse(first.body)).toMatchObject({ data: null, error: { code: 'PAYLOAD_TOO_LARGE' } });
  });

  it('a body of exactly 1 MiB is accepted', async () => {
    const body = JSON.stringify({ name: 'a', labels: { a: '' } });
    expect((await post('/toys', body.replace('""', `"${'x'.repeat(1_048_576 - body.length)}"`))).status).toBe(
      201,
    );
  });

  it.each([true, false])(
    'the sender of a larger body receives the answer even if it continues to send (declared: %s)',
    async (isDeclared) => {
      const total = 8 * 1024 * 1024;
      const chunk = Buffer.alloc(64 * 1024, ' ');
      const { first, reset } = await rawExchange(
        toys.port,
        (socket) => {
          socket.write(
            head + (isDeclared ? `Content-Length: ${total}\r\n\r\n` : 'Transfer-Encoding: chunked\r\n\r\n'),
          );
          for (let sent = 0; sent < total; sent += chunk.length) {
            if (isDeclared) socket.write(chunk);
            else socket.write(Buffer.concat([Buffer.from('10000\r\n'), chunk, Buffer.from('\r\n')]));
          }
          if (!isDeclared) socket.write('0\r\n\r\n');
        },
        { silenceMs: 3_000 },
      );
      expect([first.status, reset]).toEqual([413, false]);
    },
  );

  it('fetch gets the 413 of a body of 50 MB', async () => {
    expect((await post('/toys', Buffer.alloc(50_000_000, ' '))).status).toBe(413);
  });

  it('the connection of an endless body without a credential is closed soon after its 401', async () => {
    let sending: NodeJS.Timeout | undefined;
    const { first, closed, reset } = await rawExchange(
      toys.port,
      (socket) => {
        socket.write('POST /toys HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n');
        sending = setInterval(() => socket.write('5\r\nhello\r\n'), 20);
        socket.on('close', () => clearInterval(sending));
      },
      { silenceMs: 5_000 },
    );
    clearInterval(sending);
    expect([first.status, closed || reset]).toEqual([401, true]);
  });

  it('unexpected bodies are ignored, and the connection stays open', async () => {
    const get = 'GET /toys/newest HTTP/1.1\r\nHost: a\r\nContent-Length: 5\r\n\r\nhello';
    const { answers } = await rawExchange(toys.port, get + get);
    expect(answers.map(({ status }) => status)).toEqual([200, 200]);
  });

  it('an incomplete body is 400 when its sender disconnects', async () => {
    await expect(
      rawExchange(toys.port, (socket) => {
        socket.end(`${head}Content-Length: 10\r\n\r\n{"na`);
      }),
    ).resolves.toMatchObject({ first: { status: 400 } });
  });

  it('Expect: 100-continue is answered with 100 or with the refusal', async () => {
    const asked = `${head}Expect: 100-continue\r\n`;
    const refused = await rawExchange(toys.port, `${asked}Content-Length: 1048577\r\n\r\n`, {
      silenceMs: 3_000,
    });
    expect(refused.answers.map(({ status }) => status)).toEqual([413]);
    expect(refused.first.headers['connection']).toBe('close');
    const accepted = await rawExchange(toys.port, (socket) => {
      socket.write(`${asked}Content-Length: 12\r\n\r\n`);
      socket.once('data', () => socket.write('{"name":"a"}'));
    });
    expect(accepted.answers.map(({ status }) => status)).toEqual([100, 201]);
  });
});
