import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { parseJsonBody } from '../../shared/http/json-ingress.ts';
import { canonicalJson } from '../../shared/json/canonical-json.ts';
import { fingerprintOf } from '../../shared/idempotency/request-fingerprint.ts';

/** Two calls that log conversions are the same call if their JSON values are equal, regardless of their texts. */

const fingerprint = (body: string): string =>
  fingerprintOf({
    method: 'post',
    path: '/events',
    pathValues: { key: 'a' },
    body: parseJsonBody(Buffer.from(body), 'events'),
  }).toString('hex');

/** Texts of one number, all equal to the same double. */
const numberForms = (value: number): fc.Arbitrary<string> => {
  const usual = String(value);
  const [digits = '', exponent] = value.toExponential().split('e');
  return fc.constantFrom(
    usual,
    usual,
    /[.e]/.test(usual) ? usual : `${usual}.0`,
    /^[^e]*\.[^e]*$/.test(usual) ? `${usual}00` : usual,
    `${digits}E${exponent}`,
    // This form keeps every digit.
    Number(value.toFixed(12)) === value && Math.abs(value) < 1e15 ? value.toFixed(12) : usual,
    ...(value === 0 ? ['-0', '0e9', '-0.0'] : []),
  );
};

/** Texts of one string, with escapes and without. */
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
/** Items with text that cannot be stored are excluded: their fingerprint uses their own text. */
const someText = fc
  .oneof(
    { weight: 4, arbitrary: fc.string({ unit: 'grapheme-ascii', maxLength: 12 }) },
    { weight: 1, arbitrary: fc.string({ unit: 'binary', maxLength: 6 }) },
  )
  .filter((text) => !text.includes('\0') && text.isWellFormed());
/** An event with mostly simple members, not necessarily valid. */
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
        someText.filter((name) => name !== '__proto__'),
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

/** Items that break a rule of the JSON reader. */
const refusedItem = fc.constantFrom(
  '1e999',
  '2e999',
  '-1e999',
  '{"eventId":"a","value":1e999}',
  '{"eventId":"a","value":1e1000}',
  '{"eventId":"a","__proto__":{}}',
  '{"eventId":"a","__proto__":[]}',
  `${'['.repeat(40)}${']'.repeat(40)}`,
  `${'['.repeat(41)}${']'.repeat(41)}`,
  '"\\ud800"',
  '"\\ud801"',
);
const readItem = fc.constantFrom('null', '"1e999"', '"!1e999"', '["!1e999"]', '[]', '{"eventId":"a"}');

describe('the fingerprint of a call', () => {
  const bodyOf = (items: readonly string[]): string => `{"events":[${items.join()}],"advertiserId":11}`;

  it('is the same for every JSON text of the same value', () => {
    fc.assert(
      fc.property(
        someBody.chain((body) => fc.tuple(fc.constant(body), jsonForms(body), jsonForms(body))),
        ([body, one, another]) => {
          expect(fingerprint(one)).toBe(fingerprint(JSON.stringify(body)));
          expect(fingerprint(another)).toBe(fingerprint(one));
        },
      ),
    );
  });

  it('differs for another value', () => {
    fc.assert(
      fc.property(someBody, someBody, (one, another) => {
        const isSame = canonicalJson(one) === canonicalJson(another);
        expect(fingerprint(JSON.stringify(one)) === fingerprint(JSON.stringify(another))).toBe(isSame);
      }),
    );
  });

  it('uses the text of an item that violates a rule of the JSON reader, and the value of other items', () => {
    const some = fc.array(fc.oneof(refusedItem, readItem), { minLength: 1, maxLength: 4 });
    fc.assert(
      fc.property(some, some, (one, another) => {
        expect(fingerprint(bodyOf(one.map((text) => ` ${text}\n`)))).toBe(fingerprint(bodyOf(one)));
        expect(fingerprint(bodyOf(one)) === fingerprint(bodyOf(another))).toBe(one.join() === another.join());
      }),
      { numRuns: 1_000 },
    );
  });

  it('equals the fingerprint that earlier versions stored', () => {
    const filler = Array.from(
      { length: 64 },
      (_, n) =>
        `{"eventId":"order-${n}","eventTime":"2026-03-01T11:00:00Z","eventType":"purchase","value":12.5,"currency":"EUR"}`,
    );
    const last = '{"value":1.50,"eventTime":"2026-03-01T11:00:00Z","eventId":"b"}';
    expect(fingerprint(bodyOf([...filler, last]))).toBe(
      '113b7032e629463d9d1865a3070c2597d834be0d7f9ee7048976914f980f682c',
    );
  });
});
