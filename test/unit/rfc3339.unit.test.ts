import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { NOT_RFC_3339, readRfc3339 } from '../../domain/rfc3339.ts';
import { edgeTimes } from '../fuzz/edge-values.ts';

/** Compared with the grammar of RFC 3339 (section 5.6) and the rules of section 5.7. */

interface Parts {
  readonly year: number;
  readonly month: number;
  readonly day: number;
  readonly hour: number;
  readonly minute: number;
  readonly second: number;
  /** Digits; empty without a fraction. */
  readonly fraction: string;
  /** `Z`, or sign, hours and minutes. */
  readonly offset: 'Z' | readonly ['+' | '-', number, number];
}

const two = (number: number): string => String(number).padStart(2, '0');

const textOf = ({ year, month, day, hour, minute, second, fraction, offset }: Parts): string =>
  `${String(year).padStart(4, '0')}-${two(month)}-${two(day)}T${two(hour)}:${two(minute)}:${two(second)}` +
  (fraction === '' ? '' : `.${fraction}`) +
  (offset === 'Z' ? 'Z' : `${offset[0]}${two(offset[1])}:${two(offset[2])}`);

const daysIn = (year: number, month: number): number => {
  const last = new Date(0);
  last.setUTCFullYear(year, month, 0);
  return last.getUTCDate();
};

const msOf = ({ year, month, day, hour, minute, second, fraction, offset }: Parts): number => {
  const at = new Date(0);
  at.setUTCFullYear(year, month - 1, day);
  at.setUTCHours(hour, minute, second, Number(fraction.padEnd(3, '0').slice(0, 3)));
  const offsetMinutes = offset === 'Z' ? 0 : Number(`${offset[0]}1`) * (offset[1] * 60 + offset[2]);
  return at.getTime() - offsetMinutes * 60_000;
};

const expected = (parts: Parts): unknown => {
  if (parts.second === 60) return expect.stringContaining('leap seconds are not supported');
  const atMs = msOf(parts);
  const isInRange = atMs >= 0 && atMs <= Date.parse('9999-12-31T23:59:59.999Z');
  return isInRange ? atMs : 'must be from 1970 to 9999 in UTC';
};

const upTo = (max: number) => fc.integer({ min: 0, max });
const digit = fc.constantFrom(...Array.from('0123456789'));
/** Times that the grammar and the calendar allow. */
const parts: fc.Arbitrary<Parts> = fc
  .record({
    year: fc.oneof(fc.constantFrom(0, 99, 100, 1969, 1970, 2000, 2024, 2100, 9999), upTo(9999)),
    month: fc.integer({ min: 1, max: 12 }),
    hour: upTo(23),
    minute: upTo(59),
    second: upTo(60),
    fraction: fc.oneof(fc.constant(''), fc.string({ unit: digit, minLength: 1, maxLength: 60 })),
    offset: fc.oneof(
      fc.constant<'Z'>('Z'),
      fc.tuple(fc.constantFrom('+' as const, '-' as const), upTo(23), upTo(59)),
    ),
  })
  .chain((some) =>
    fc.integer({ min: 1, max: daysIn(some.year, some.month) }).map((day) => ({ ...some, day })),
  );

/** The grammar in either case, with ranges of the numbers but without the length of a month. */
const GRAMMAR =
  /^(\d{4})-(0[1-9]|1[0-2])-(0[1-9]|[12]\d|3[01])T(?:[01]\d|2[0-3]):[0-5]\d:(?:[0-5]\d|60)(?:\.\d+)?(?:Z|[+-](?:[01]\d|2[0-3]):[0-5]\d)$/i;
const isDateTime = (text: string): boolean => {
  const [, year, month, day] = GRAMMAR.exec(text) ?? [];
  return day !== undefined && Number(day) <= daysIn(Number(year), Number(month));
};

const RUNS = { numRuns: 3_000 };

describe('a date-time of RFC 3339', () => {
  it('is parsed, with T and Z in either case and any number of fraction digits', () => {
    fc.assert(
      fc.property(parts, fc.boolean(), fc.boolean(), (some, lowerT, lowerZ) => {
        const text = textOf(some)
          .replace('T', lowerT ? 't' : 'T')
          .replace('Z', lowerZ ? 'z' : 'Z');
        expect(readRfc3339(text)).toEqual(expected(some));
      }),
      RUNS,
    );
  });

  it('is accepted exactly if the grammar and the calendar allow it', () => {
    const changed = fc
      .tuple(
        parts.map(textOf),
        fc.nat(),
        fc.constantFrom(...Array.from('0123456789+-:.TtZz ,'), '', 'Z0', '\n'),
      )
      .map(([text, place, piece]) => {
        const at = place % (text.length + 1);
        return text.slice(0, at) + piece + text.slice(at + 1);
      });
    const text = fc.oneof(changed, fc.constantFrom(...edgeTimes), fc.string());
    const read = { accepted: 0, refused: 0 };
    fc.assert(
      fc.property(text, (one) => {
        const isRefused = String(readRfc3339(one)).startsWith(NOT_RFC_3339);
        expect(isRefused).toBe(!isDateTime(one));
        read[isRefused ? 'refused' : 'accepted'] += 1;
      }),
      RUNS,
    );
    expect(Math.min(read.accepted, read.refused)).toBeGreaterThan(200);
  });

  it('is the same instant in any offset', () => {
    const instants = ['2026-03-01T10:00:00Z', '2026-03-01T12:30:00+02:30', '2026-02-28T24:00:00-00:00'];
    expect(instants.map(readRfc3339)).toEqual([
      Date.UTC(2026, 2, 1, 10),
      Date.UTC(2026, 2, 1, 10),
      NOT_RFC_3339,
    ]);
  });

  it.each([
    ['2016-12-31T23:59:60Z', /leap seconds are not supported/],
    ['1990-12-31T15:59:60-08:00', /leap seconds are not supported/],
    ['2016-12-31T23:59:61Z', /^must be an RFC 3339 date-time/],
    ['2016-12-32T23:59:60Z', /^must be an RFC 3339 date-time/],
  ])('with a leap second is refused with the reason: %s', (text, fault) => {
    expect(readRfc3339(text)).toMatch(fault);
  });

  it.each([
    ['1970-01-01T00:00:00+00:01', false],
    ['1969-12-31T23:59:00-00:01', true],
    ['9999-12-31T23:59:59.999999Z', true],
    ['9999-12-31T23:59:59-00:01', false],
  ])('is accepted from 1970 to 9999 in UTC: %s (%s)', (text, isAccepted) => {
    expect(typeof readRfc3339(text) === 'number').toBe(isAccepted);
  });
});
