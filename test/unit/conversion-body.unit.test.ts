import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { LogConversionsBody } from '../../src/command/conversions/conversion-input.ts';
import { QUICK_BYTES_MIN, readConversions } from '../../src/command/conversions/read-body.ts';
import { fingerprintsOf } from '../../src/domain/conversions/fingerprint.ts';
import { validateItems, type SentItems } from '../../src/domain/conversions/validate-items.ts';
import { parseJsonBody } from '../../src/shared/http/json-ingress.ts';
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

/** @returns whether it was read in one pass; then it must be what the long way gives, too */
const compare = (body: string | Buffer): boolean => {
  const bytes = Buffer.from(body);
  const quick = readConversions(bytes);
  if (quick === undefined) return false;
  const { events, ...rest } = quick;
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
