import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { LogConversionsBody } from '../../src/command/conversions/conversion-input.ts';
import { QUICK_BYTES_MIN, readConversions } from '../../src/command/conversions/read-body.ts';
import { fingerprintsOf } from '../../src/domain/conversions/fingerprint.ts';
import { validateItems, type SentItems } from '../../src/domain/conversions/validate-items.ts';
import { parseJsonBody } from '../../src/shared/http/json-ingress.ts';
import { canonicalJson } from '../../src/shared/idempotency/canonical-json.ts';
import { fingerprintOf } from '../../src/shared/idempotency/fingerprint.ts';
import { NOW_MS, SOURCE } from '../support/conversion-calls.ts';

/**
 * A body that is read in one pass over its bytes comes to what JSON, the schema and the check of items come to. What
 * is neither JSON nor allowed is left to them.
 */

const plainItems = (count: number): string[] =>
  Array.from(
    { length: count },
    (_, n) =>
      `{"eventId":"order-${n}","eventTime":"2026-03-01T11:00:00Z","eventType":"purchase","value":12.5,"currency":"EUR"}`,
  );
const filler = plainItems(QUICK_BYTES_MIN / 64);

const validatedOf = (events: SentItems) =>
  validateItems(events, {
    nowMs: NOW_MS,
    allowedTypes: ['purchase', 'custom', 'lead'],
    fingerprintInto: fingerprintsOf(SOURCE),
  });

const slowly = (bytes: Buffer) => {
  const { events, ...rest } = LogConversionsBody.parse(parseJsonBody(bytes, false));
  return { rest, validated: validatedOf(events) };
};

const request = { method: 'post', path: '/events', pathValues: { key: 'a' } };
const slowFingerprint = (bytes: Buffer): string =>
  fingerprintOf({ ...request, body: parseJsonBody(bytes, false) }).toString('hex');

/** The fingerprint of a call with a key; of the text where it cannot be read in one pass. */
const fingerprint = (body: string): { readonly isQuick: boolean; readonly print: string } => {
  const bytes = Buffer.from(body);
  const canonical = readConversions(bytes, true)?.canonical;
  return canonical === undefined
    ? { isQuick: false, print: slowFingerprint(bytes) }
    : { isQuick: true, print: fingerprintOf({ ...request, body: undefined, canonical }).toString('hex') };
};

const compareKeyed = (bytes: Buffer): void => {
  const quick = readConversions(bytes, true);
  if (quick === undefined) return;
  const { events, ...rest } = quick.body;
  expect({ rest, validated: validatedOf(events) }).toEqual(slowly(bytes));
  const { canonical } = quick;
  expect(canonical).toBeDefined();
  expect(fingerprintOf({ ...request, body: undefined, canonical }).toString('hex')).toBe(
    slowFingerprint(bytes),
  );
};

/** @returns whether it was read in one pass; then it must be what the long way gives, too */
const compare = (body: string | Buffer): boolean => {
  const bytes = Buffer.from(body);
  compareKeyed(bytes);
  const quick = readConversions(bytes, false);
  if (quick === undefined) return false;
  expect(quick.canonical).toBeUndefined();
  const { events, ...rest } = quick.body;
  expect({ rest, validated: validatedOf(events) }).toEqual(slowly(bytes));
  return true;
};

const bodyOf = (items: readonly string[], tail = ''): string =>
  `{"events":[${[...filler, ...items].join()}]${tail}}`;

const text = fc.oneof(
  { weight: 6, arbitrary: fc.constantFrom('a', 'order-1', 'x'.repeat(256), 'x'.repeat(257), '') },
  { weight: 2, arbitrary: fc.string({ unit: 'binary', maxLength: 8 }) },
);
const jsonText = text.map((value) => JSON.stringify(value));
const number = fc.oneof(
  fc.constantFrom('0', '-0', '0.1', '12.50', '-7.25', '1e3', '01', '1.', '123456789012345678', '1e999', '-'),
  fc.double({ noNaN: true, noDefaultInfinity: true }).map(String),
  fc.integer().map((value) => String(value / 100)),
);
const time = fc.oneof(
  fc.constantFrom(
    '"2026-03-01T11:00:00Z"',
    '"2026-03-01T11:00:00.125Z"',
    '"2026-03-01T25:00:00Z"',
    '"2026-02-30T11:00:00Z"',
    '"2026-03-01T11:00:00+02:00"',
    '"2026-03-01t11:00:00z"',
    '"2020-03-01T11:00:00Z"',
    '"2026-03-01T11:00:0aZ"',
    '"2026-03-01T11:00:00.1x5Z"',
    '5',
  ),
  fc
    .date({ min: new Date('2025-11-01'), max: new Date('2026-04-01'), noInvalidDate: true })
    .map((date) => JSON.stringify(date)),
);
const other = fc.oneof(
  jsonText,
  number,
  fc.constantFrom('true', 'false', 'null', '{}', '[1,[2,"]"]]', '{"a":"\\"}"}', 'nul', '{', ''),
);
const member = fc.oneof(
  { weight: 8, arbitrary: jsonText.map((value) => `"eventId":${value}`) },
  { weight: 8, arbitrary: time.map((value) => `"eventTime":${value}`) },
  {
    weight: 3,
    arbitrary: fc.constantFrom('purchase', 'lead', 'share', 'none').map((type) => `"eventType":"${type}"`),
  },
  { weight: 3, arbitrary: number.map((value) => `"value":${value}`) },
  {
    weight: 3,
    arbitrary: fc.constantFrom('"EUR"', '"eur"', '"EURO"', 'null', '""').map((code) => `"currency":${code}`),
  },
  { weight: 2, arbitrary: jsonText.map((value) => `"customEventName":${value}`) },
  { weight: 1, arbitrary: jsonText.map((value) => `"orderId":${value}`) },
  { weight: 1, arbitrary: fc.tuple(jsonText, other).map(([name, value]) => `${name}:${value}`) },
  { weight: 1, arbitrary: other.map((value) => `"__proto__":${value}`) },
);
const space = fc.constantFrom('', '', '', ' ', '\n  ', '\u00a0');
const someItem = fc
  .tuple(fc.array(member, { maxLength: 8 }), space, space)
  .map(([members, before, between]) => `${before}{${members.join(`${between},${between}`)}}${before}`);
const tail = fc.constantFrom(
  '',
  '',
  ',"advertiserId":11',
  ',"testEventCode":"A1"',
  ',"testEventCode":"\u00e9"',
  ',"events":[]',
  ',"\\u0065vents":[]',
  ',"advertiserId":"x"',
  ',"confirm":false',
  '}',
  ',',
);

describe('a body in one pass', () => {
  it('comes to what JSON, the schema and the check of items come to', () => {
    let read = 0;
    fc.assert(
      fc.property(fc.array(someItem, { maxLength: 3 }), tail, (items, end) => {
        if (compare(bodyOf(items, end))) read += 1;
      }),
      { numRuns: Number(process.env['CONVERSION_RUNS'] ?? 400) },
    );
    expect(read).toBeGreaterThan(20);
  });

  it('comes to the same whatever byte of it is another one', () => {
    const items = [
      '{"eventId":"a-1","eventTime":"2026-03-01T11:00:00.125Z","eventType":"lead","value":-0.25,"currency":"USD"}',
      '{"eventId":"a-1","eventTime":"2026-03-01T11:00:00Z","customEventName":"n","eventId":"a-2","x":"","y":null}',
      '{"eventId":"\u00e9","eventTime":"2026-03-01T11:00:00Z","userMatch":{"uids":[]},"value":1e2,"\\u0041":[{}]}',
    ];
    const usual = Buffer.from(bodyOf(items, ',"advertiserId":11'));
    const place = fc.oneof(
      fc.integer({ min: usual.length - 360, max: usual.length - 1 }),
      fc.nat({ max: usual.length - 1 }),
    );
    const byte = fc.oneof(fc.constantFrom(...Buffer.from('"\\{}[],:0-.eE \n\0TZz_')), fc.nat({ max: 255 }));
    let read = 0;
    fc.assert(
      fc.property(fc.array(fc.tuple(place, byte), { minLength: 1, maxLength: 3 }), (changes) => {
        const body = Buffer.from(usual);
        for (const [at, changed] of changes) body[at] = changed;
        if (compare(body)) read += 1;
      }),
      { numRuns: Number(process.env['CONVERSION_RUNS'] ?? 400) },
    );
    expect(read).toBeGreaterThan(20);
  });

  it.each([
    ['plain', bodyOf([])],
    ['with white space', `\n{ "events" : [ ${filler.join(' ,\n ')} ] , "advertiserId" : 11 }\n`],
    ['with members before the events', `{"advertiserId":11,"confirm":true,"events":[${filler.join()}]}`],
    ['with some events of another form', bodyOf(['{"eventId":"\u00e9","eventTime":"2026-03-01T11:00:00Z"}'])],
  ])('is taken %s', (_, body) => expect(compare(body)).toBe(!body.includes('"confirm"')));

  it.each([
    ['of more than 10,000 events', `{"events":[${plainItems(10_001).join()}]}`],
    ['where most events are of another form', `{"events":[${filler.map(() => '{"orderId":"7"}').join()}]}`],
    ['that holds a nested array of events', `{"a":{"events":[${filler.join()}]}}`],
    ['that holds too many values, though not in one place', bodyOf([], `,"a":[${'0,'.repeat(499_900)}0]`)],
    ['that goes on behind its end', `${bodyOf([])} {}`],
    ['that does not end', bodyOf([]).slice(0, -2)],
  ])('is not taken %s', (_, body) => expect(compare(body)).toBe(false));

  it('takes an event for the same in either way, whatever was before it', () => {
    const items = ['2026-03-01T00:00:00Z', '2026-02-28T23:59:59.999Z', '2026-03-01T23:59:59Z'].map(
      (at, n) => `{"eventTime":"${at}","eventId":"t${n}","value":-${n}.5,"unknown":true}`,
    );
    expect(compare(bodyOf([...items, ...items.toReversed()]))).toBe(true);
  });
});

/** Ways to write a number that all mean the same double. */
const numberForms = (value: number): fc.Arbitrary<string> => {
  const usual = String(value);
  const [digits = '', exponent] = value.toExponential().split('e');
  return fc.constantFrom(
    usual,
    usual,
    /[.e]/.test(usual) ? usual : `${usual}.0`,
    /^[^e]*\.[^e]*$/.test(usual) ? `${usual}00` : usual,
    `${digits}E${exponent}`,
    // Not a digit is lost by it.
    Number(value.toFixed(12)) === value && Math.abs(value) < 1e15 ? value.toFixed(12) : usual,
    ...(value === 0 ? ['-0', '0e9', '-0.0'] : []),
  );
};

/** Ways to write a text, with escapes and without. */
const textForms = (value: string): fc.Arbitrary<string> =>
  fc
    .tuple(fc.constantFrom(0, 0, 0, 1, 2), fc.nat({ max: Math.max(0, value.length - 1) }))
    .map(([how, place]) => {
      if (how === 0 || value === '') return JSON.stringify(value);
      const units = how === 1 ? value.slice(place, place + 1) : value;
      const escaped = [...Array(units.length).keys()]
        .map((n) => `\\u${units.charCodeAt(n).toString(16).padStart(4, '0')}`)
        .join('');
      const [before, after] = how === 1 ? [value.slice(0, place), value.slice(place + 1)] : ['', ''];
      return `"${JSON.stringify(before).slice(1, -1)}${escaped}${JSON.stringify(after).slice(1, -1)}"`;
    });

const spaces = fc.constantFrom('', '', '', ' ', '\n', '\t', '\r\n  ');

/** Texts of one value: members in any order, white space, numbers and texts in any form. */
const jsonForms = (value: unknown): fc.Arbitrary<string> => {
  if (typeof value === 'string') return textForms(value);
  if (typeof value === 'number') return numberForms(value);
  if (typeof value !== 'object' || value === null) return fc.constant(JSON.stringify(value));
  const parts: fc.Arbitrary<string>[] = Array.isArray(value)
    ? value.map(jsonForms)
    : Object.entries(value).map(([name, one]) =>
        fc
          .tuple(textForms(name), spaces, spaces, jsonForms(one))
          .map(([written, before, behind, inner]) => `${written}${before}:${behind}${inner}`),
      );
  const [open, close] = Array.isArray(value) ? '[]' : '{}';
  const ordered = fc
    .tuple(...parts)
    .chain((written) =>
      Array.isArray(value)
        ? fc.constant(written)
        : fc.shuffledSubarray(written, { minLength: written.length, maxLength: written.length }),
    );
  return fc
    .tuple(ordered, spaces, spaces)
    .map(
      ([written, before, behind]) =>
        `${open}${before}${written.join(`${behind},${before}`)}${behind}${close}`,
    );
};

const someNumber = fc.oneof(
  fc.constantFrom(0, 12.5, 100, -7.25, 1e-6, 9.9e-7, -1e-7, 1e21, 1e15, 999_999_999_999_999, 0.1, 5e-324),
  fc.integer({ min: -1e9, max: 1e9 }).map((value) => value / 100),
  fc.integer({ min: -1e6, max: 1e6 }).map((value) => value / 1e12),
  fc.double({ noNaN: true, noDefaultInfinity: true }).map((value) => value + 0),
);
const someText = fc.oneof(
  { weight: 4, arbitrary: fc.string({ unit: 'grapheme-ascii', maxLength: 12 }) },
  { weight: 1, arbitrary: fc.string({ unit: 'binary', maxLength: 6 }) },
);
/** An event whose members are plain, mostly; not one that is right. */
const someEvent = fc
  .record(
    {
      eventId: fc.string({ unit: 'grapheme-ascii', minLength: 1, maxLength: 12 }),
      eventTime: fc.constantFrom('2026-03-01T11:00:00Z', '2026-03-01T11:00:00.125Z'),
      eventType: fc.constantFrom('purchase', 'lead'),
      value: someNumber,
      currency: fc.constantFrom('EUR', 'USD'),
      orderRef: someText,
      zone: someNumber,
      isNew: fc.constantFrom(true, false, null),
    },
    { requiredKeys: ['eventId', 'eventTime'] },
  )
  .chain((event) =>
    fc
      .dictionary(
        someText.filter((name) => !['__proto__', 'constructor', 'prototype'].includes(name)),
        fc.oneof(
          { weight: 5, arbitrary: someNumber },
          { weight: 1, arbitrary: fc.constantFrom({}, [1, { a: 'b' }]) },
        ),
        { maxKeys: 2, noNullPrototype: true },
      )
      .map((others) => ({ ...others, ...event })),
  );
const someBody = fc
  .tuple(
    fc.array(someEvent, { minLength: 1, maxLength: 12 }),
    fc.constantFrom({}, { advertiserId: 11 }, { zed: 'a' }),
  )
  .map(([events, rest]) => ({ events, ...rest }));

/** Long enough to be read in one pass: with white space at the beginning of its first array, which is that of the events. */
const padded = (body: string): string => body.replace('[', `[${' '.repeat(QUICK_BYTES_MIN)}`);

describe('the fingerprint of a call that is read in one pass', () => {
  it('is the same for every text of the same value, in whichever way each of them is read', () => {
    let quick = 0;
    fc.assert(
      fc.property(
        someBody.chain((body) => fc.tuple(fc.constant(body), jsonForms(body), jsonForms(body))),
        ([body, one, another]) => {
          const prints = [JSON.stringify(body), one, another].map((form) => fingerprint(padded(form)));
          for (const { isQuick, print } of prints) {
            expect(print).toBe(fingerprintOf({ ...request, body }).toString('hex'));
            if (isQuick) quick += 1;
          }
        },
      ),
      { numRuns: Number(process.env['CONVERSION_RUNS'] ?? 150) },
    );
    expect(quick).toBeGreaterThan(100);
  });

  it('is another one for another value', () => {
    fc.assert(
      fc.property(someBody, someBody, (one, another) => {
        const isSame = canonicalJson(one) === canonicalJson(another);
        const [first, second] = [one, another].map((body) => fingerprint(padded(JSON.stringify(body))).print);
        expect(first === second).toBe(isSame);
      }),
    );
  });

  it.each([
    ['a member twice', '{"eventId":"a","eventTime":"2026-03-01T11:00:00Z","x":1,"x":2}'],
    ['zeros behind the point', '{"eventId":"a","eventTime":"2026-03-01T11:00:00Z","value":12.00,"x":0.50}'],
    [
      'the least number without an exponent',
      '{"eventId":"a","eventTime":"2026-03-01T11:00:00Z","x":0.000001}',
    ],
    [
      'numbers below it',
      '{"eventId":"a","eventTime":"2026-03-01T11:00:00Z","x":0.0000009,"y":-0.00000000000012}',
    ],
    [
      '10 and a small part',
      '{"eventId":"a","eventTime":"2026-03-01T11:00:00Z","x":10.0000001,"y":-20.0000000}',
    ],
    [
      '15 digits',
      '{"eventId":"a","eventTime":"2026-03-01T11:00:00Z","x":0.123456789012345,"y":-99999999999999.9}',
    ],
    ['a name without a letter', '{"eventId":"a","eventTime":"2026-03-01T11:00:00Z","":1,"10":2,"9":3}'],
    [
      'numbers that grow',
      `{"eventId":"a","eventTime":"2026-03-01T11:00:00Z","contentIds":[${'1e20,'.repeat(2_000)}1]}`,
    ],
  ])('is that of the parsed body with %s', (_, item) => {
    const body = bodyOf([item, filler[0] ?? '']);
    expect(fingerprint(body)).toEqual({ isQuick: true, print: slowFingerprint(Buffer.from(body)) });
  });

  it('is the one that earlier versions have stored', () => {
    const body = bodyOf(
      ['{"value":1.50,"eventTime":"2026-03-01T11:00:00Z","eventId":"b"}'],
      ',"advertiserId":11',
    );
    expect(fingerprint(body)).toEqual({
      isQuick: true,
      print: '113b7032e629463d9d1865a3070c2597d834be0d7f9ee7048976914f980f682c',
    });
  });
});
