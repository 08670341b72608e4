import fc from 'fast-check';
import { edgeNumbers, edgeTimes } from './edge-values.ts';
import { RawJson } from './json-text.ts';

/** Names that have broken other programs: prototype members, and members that only the service may set. */
export const hostileNames = [
  '__proto__',
  'constructor',
  'prototype',
  'toString',
  'hasOwnProperty',
  'length',
  'then',
  'toJSON',
  '$where',
  '',
  ' ',
  '0',
  '-1',
  'a.b',
  'a[b]',
  'nul\0',
  '\ud800',
  'id',
  'customerId',
  'status',
  'isAdmin',
  'role',
  'x'.repeat(300),
] as const;

const texts = [
  '',
  ' ',
  '\0',
  'a\0b',
  '\ud800',
  '\udfff',
  'a\udc00b',
  '\ufffe',
  '\u202e',
  '\ufeff',
  "'",
  "';--",
  '"',
  '\\',
  '$1',
  '%',
  '_',
  '{{7*7}}',
  '<svg onload=1>',
  '\r\nX-Injected: 1',
  '../../etc/passwd',
  '__proto__',
  'constructor',
  'null',
  'undefined',
  'NaN',
  '[object Object]',
  'true',
  '0',
  '-1',
  '1e309',
  '2147483648',
  '9007199254740993',
  '0x10',
  '１２',
  'http://[::1',
  'javascript:1',
  'xn--a',
  'e\u0301'.repeat(101),
  '😀'.repeat(201),
];

const halfPairs = fc.string({
  unit: fc.integer({ min: 0xd7f0, max: 0xe010 }).map((code) => String.fromCharCode(code)),
});

const hostileText: fc.Arbitrary<string> = fc.oneof(
  { weight: 5, arbitrary: fc.constantFrom(...texts) },
  { weight: 1, arbitrary: fc.constantFrom(...edgeTimes) },
  { weight: 1, arbitrary: fc.string({ unit: 'binary', maxLength: 40 }) },
  { weight: 1, arbitrary: halfPairs },
  {
    weight: 1,
    arbitrary: fc.constantFrom(101, 201, 256, 2_001, 9_000, 70_000).map((length) => 'a'.repeat(length)),
  },
);

const numbers = [
  ...edgeNumbers,
  '1e309',
  '-1e309',
  '0',
  '-1',
  '1.5',
  '1.0',
  '99999999999999999999',
  '0.1',
  '0.30000000000000004',
  `1${'0'.repeat(400)}`,
  `0.${'1'.repeat(400)}`,
];

const deep = (depth: number): readonly RawJson[] => [
  new RawJson('['.repeat(depth) + ']'.repeat(depth)),
  new RawJson('{"a":'.repeat(depth) + '1' + '}'.repeat(depth)),
];

const wide = (members: number): RawJson =>
  new RawJson(`{${Array.from({ length: members }, (_, at) => `"m${at}":${at}`).join()}}`);

const twice = new RawJson('{"name":"a","name":1}');
const polluting = [
  new RawJson('{"__proto__":{"polluted":true}}'),
  new RawJson('{"constructor":{"prototype":{"polluted":true}}}'),
  new RawJson('{"prototype":{"polluted":true}}'),
];

const containers: readonly unknown[] = [
  ...deep(31),
  ...deep(32),
  ...deep(33),
  ...deep(1_000),
  ...polluting,
  twice,
  wide(1_001),
  [],
  {},
  [null],
  [[]],
  [{}],
  { length: -1 },
  Array.from({ length: 1_001 }, (_, at) => at),
];

/** Rarely used: each has tens of thousands of bytes. */
const heavy: readonly unknown[] = [
  ...deep(6_000),
  ...deep(100_000),
  wide(10_000),
  new RawJson(`[${'0,'.repeat(500_000)}0]`),
  'a'.repeat(1_048_577),
];

/** Values that no schema expects. */
export const hostileValue: fc.Arbitrary<unknown> = fc.oneof(
  { weight: 20, arbitrary: fc.constantFrom<unknown>(null, true, false, undefined) },
  { weight: 40, arbitrary: hostileText },
  { weight: 40, arbitrary: fc.constantFrom(...numbers).map((text) => new RawJson(text)) },
  {
    weight: 10,
    arbitrary: fc.oneof(fc.double(), fc.maxSafeInteger()).map((value) => new RawJson(String(value))),
  },
  { weight: 30, arbitrary: fc.constantFrom(...containers) },
  { weight: 20, arbitrary: fc.jsonValue({ maxDepth: 3 }) },
  { weight: 1, arbitrary: fc.constantFrom(...heavy) },
);

/** Values for a path or query: percent-encoded, or with broken encoding. */
export const hostileUrlText: fc.Arbitrary<string> = fc.oneof(
  {
    weight: 4,
    arbitrary: fc.constantFrom(
      '0',
      '-1',
      '1.0',
      '1.5',
      '1e9',
      '0x10',
      '01',
      '+1',
      '%201',
      '1%20',
      'NaN',
      'null',
      'undefined',
      'true',
      '2147483647',
      '2147483648',
      '4294967297',
      '9007199254740991',
      '9007199254740992',
      '1e21',
      '99999999999999999999',
      '1'.repeat(400),
      'a'.repeat(101),
      'a'.repeat(8_000),
      '%D9%A1',
      '%EF%BC%91',

      '__proto__',
      'constructor',
      'toString',
      '%5Bobject%20Object%5D',
      '$all',
      '$settings',
      '%24ce-advertiser',

      '%00',
      '1%00',
      '%E0%A4%A',
      '%',
      '%zz',
      '%ff',
      '%ED%A0%80',
      '%C0%AF',
      '%u0000',
      '%F0%9F%98%80',
      '%EF%BF%BE',

      '..',
      '.',
      '%2e%2e',
      '%2f',
      '..%2f..%2fetc',
      '%5c',
      '%252e%252e',
      ';a=b',
      ':id',
      '*',
      '{id}',
      '%7Bid%7D',
      "'",
      '%27%20or%201=1--',
      '%22',
      '%25',
      '_',
      '%0d%0aX:1',
      '%E2%80%AE',
      '(',
      '[',
      ']',
      '|',
      '^',
      '`',
    ),
  },
  { weight: 1, arbitrary: fc.constantFrom(...edgeNumbers, ...edgeTimes).map(encodeURIComponent) },
  { weight: 1, arbitrary: fc.webSegment() },
  {
    weight: 1,
    arbitrary: fc
      .string({ unit: 'binary', maxLength: 20 })
      .map((text) => encodeURIComponent(text.toWellFormed())),
  },
  { weight: 1, arbitrary: fc.uint8Array({ maxLength: 8 }).map(percentEncoded) },
);

function percentEncoded(bytes: Uint8Array): string {
  return [...bytes].map((byte) => `%${byte.toString(16).padStart(2, '0')}`).join('');
}
