import fc from 'fast-check';
import type { Mutation } from './draft.ts';

/** Malformed and unusual headers that an HTTP client can send. */

const several = (
  name: string,
  ...forms: readonly (readonly string[])[]
): fc.Arbitrary<readonly [string, readonly string[]]> =>
  fc.constantFrom(...forms).map((values) => [name, values] as const);

/** RFC 9110, 5.5: characters of a field value. */
export const headerText = fc.string({
  unit: fc
    .integer({ min: 0x20, max: 0xff })
    .filter((code) => code !== 0x7f)
    .map((code) => String.fromCharCode(code)),
  maxLength: 300,
});

const contentType = several(
  'Content-Type',
  ...[
    '',
    'text/plain',
    'application/xml',
    'application/x-www-form-urlencoded',
    'multipart/form-data; boundary=x',
  ].map((one) => [one]),
  ...[
    'application/json; charset=utf-7',
    'application/json;charset=utf-16',
    'application/json; charset="utf-8"',
  ].map((one) => [one]),
  ...[
    'application/json; charset=latin1',
    'application/json;',
    'application/jsonx',
    'APPLICATION/JSON',
    'application/json, a',
  ].map((one) => [one]),
  ['application/json; charset=utf-8; charset=utf-7'],
  ['application/json', 'text/plain'],
  [`application/json; ${'a'.repeat(4_000)}`],
  ['application/merge-patch+json'],
);

const contentEncoding = several(
  'Content-Encoding',
  ['gzip'],
  ['br'],
  ['deflate'],
  ['identity'],
  [''],
  ['gzip, gzip'],
  ['x'],
);

const idempotencyKey = fc.oneof(
  several(
    'Idempotency-Key',
    ...['', 'a', 'a'.repeat(15), 'a'.repeat(16), 'a'.repeat(255), 'a'.repeat(256), 'a'.repeat(9_000)].map(
      (one) => [one],
    ),
    ...[
      '"quoted-key-0123456789"',
      'with space 0123456789',
      '../../../../etc/passwd',
      '__proto__........',
      '$all$all$all$all$all',
    ].map((one) => [one]),
    ['fuzz-key-00000001', 'fuzz-key-00000001'],
    ['fuzz-key-00000001, fuzz-key-00000002'],
  ),
  headerText.map((text) => ['Idempotency-Key', [text]] as const),
);

const authorization = fc.oneof(
  several(
    'Authorization',
    ...[
      '',
      'Bearer',
      'Bearer ',
      'bearer x',
      'Basic dXNlcjpwYXNz',
      'Digest a="b"',
      'Bearer a b',
      'Bearer "x"',
      'Bearer x,y',
    ].map((one) => [one]),
    ...[
      'Bearer bx_',
      'Bearer bx__',
      'Bearer bx_a_b',
      'Bearer bx_0000000000000000_0',
      `Bearer bx_${'a'.repeat(8_000)}`,
    ].map((one) => [one]),
    ...[
      'Bearer at_x',
      'Bearer e30.e30.',
      'Bearer eyJhbGciOiJub25lIn0.e30.',
      'Bearer ../../x',
      'Bearer %00',
      'Bearer ====',
    ].map((one) => [one]),
    ['Bearer a', 'Bearer b'],
  ),
  headerText.map((text) => ['Authorization', [`Bearer ${text}`]] as const),
);

const others = fc.oneof(
  several('X-Request-Id', [''], ['a'.repeat(129)], ['a b'], ['{"level":60}'], ['<x>'], ['a', 'b']),
  several(
    'X-Forwarded-For',
    ['unknown'],
    ['<x>'],
    ['::ffff:1.2.3.4, 10.0.0.1'],
    ['1.2.3.4:99999'],
    ['a', 'b'],
    [''],
  ),
  several('X-HTTP-Method-Override', ['DELETE'], ['CONNECT']),
  several('Expect', ['100-continue'], ['200-ok'], ['']),
  several('Accept', ['text/html'], ['application/xml;q=1'], ['*/*;q=2'], ['']),
  several('Accept-Encoding', ['gzip;q=0'], ['br, *;q=9']),
  several('Range', ['bytes=0-'], ['bytes=9-1'], ['x']),
  several('If-None-Match', ['*'], ['"x"'], ['W/"']),
  several('Origin', ['null'], ['https://evil.test'], ['']),
  several('Cookie', ['__Host-sc_session=x'], ['a=b; a=c; ;;=']),
  several('Content-Language', ['x'.repeat(15_000)]),
  several('Traceparent', ['00-0-0-0'], ['ff-ffffffffffffffffffffffffffffffff-ffffffffffffffff-ff']),
  several('Transfer-Encoding', ['chunked']),
  several('X-Customer-Id', ['1'], ['__proto__']),
);

const left = fc
  .constantFrom('Authorization', 'Content-Type', 'Idempotency-Key')
  .map((name): Mutation => (draft) => {
    draft.headers.delete(name);
  });

export const hostileHeader: fc.Arbitrary<Mutation> = fc.oneof(
  { weight: 1, arbitrary: left },
  {
    weight: 9,
    arbitrary: fc
      .oneof(contentType, contentEncoding, idempotencyKey, authorization, others)
      .map(([name, values]): Mutation => (draft) => {
        draft.headers.set(name, values);
      }),
  },
);
