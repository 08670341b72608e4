import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { DAYS_KNOWN } from '../../domain/conversions/fingerprint.ts';
import { createFingerprintTable, createFreshSet } from '../../command/conversions/fingerprint-table.ts';
import { fingerprintsOf } from '../../domain/conversions/fingerprint.ts';
import { idsMeeting } from '../support/colliding-ids.ts';
import { SOURCE } from '../support/conversion-calls.ts';

const into = fingerprintsOf(SOURCE);
const keys = (count: number, prefix = 'event'): Uint32Array => {
  const words = new Uint32Array(4 * count);
  for (let n = 0; n < count; n += 1) into('purchase', `${prefix}-${n}`, words, 4 * n);
  return words;
};
const hex = (text: string, type = 'purchase', source = SOURCE): string => {
  const words = new Uint32Array(4);
  fingerprintsOf(source)(type, text, words, 0);
  return Buffer.from(words.buffer).toString('hex');
};
const TODAY = 20_000;

describe('fingerprints', () => {
  it('never change, because they are stored', () => {
    expect(hex('')).toBe('5551935d15cfb090700d59f6943c18c6');
    expect(hex('order-4711')).toBe('43781e50d5c7c09ef90e3dbc77be1bfc');
    expect(hex('Bestellung \u{1F600} ä')).toBe('650354c77373afa6d197c555f0efbd98');
  });

  it('differ by id, type and source, and if U+0000 is appended', () => {
    const other = '1f6a0a4f-7c11-5d9b-9a51-6f7b0f382f5e';
    const all = [
      hex('a'),
      hex('b'),
      hex('a', 'lead'),
      hex('a', 'lead', other),
      hex('a', 'purchase', other),
      hex('a\0'),
      hex(''),
    ];
    expect(new Set(all).size).toBe(all.length);
  });

  it('of 200,000 consecutive ids differ in both 64-bit halves', () => {
    const words = keys(200_000);
    const pairs = [new Set<bigint>(), new Set<bigint>()];
    const longs = new BigUint64Array(words.buffer);
    for (let n = 0; n < longs.length; n += 1) pairs[n % 2]?.add(longs[n] as bigint);
    expect(pairs.map(({ size }) => size)).toEqual([200_000, 200_000]);
  });
});

describe('the table', () => {
  it('contains exactly the added fingerprints while it grows from one shard to many', () => {
    const count = 200_000;
    const table = createFingerprintTable();
    table.today(TODAY);
    const [added, others] = [keys(count), keys(count, 'other')];
    for (let at = 0; at < added.length; at += 4) table.add(added, at, TODAY);
    let [known, unknown] = [0, 0];
    for (let at = 0; at < added.length; at += 4) {
      if (table.has(added, at)) known += 1;
      if (!table.has(others, at)) unknown += 1;
    }
    expect([known, unknown, table.count]).toEqual([count, count, count]);
    expect(table.bytes / count).toBeLessThan(60);
  });

  it('stays small and fast for ids that were chosen to collide', () => {
    const ids = idsMeeting(SOURCE, 'purchase', 20_000);
    const words = new Uint32Array(4 * ids.length);
    ids.forEach((id, n) => into('purchase', id, words, 4 * n));
    expect(new Set(words.filter((_, n) => n % 4 < 2)).size).toBe(2);
    const table = createFingerprintTable();
    table.today(TODAY);
    for (let at = 0; at < words.length; at += 4) table.add(words, at, TODAY);
    expect(table.count).toBe(ids.length);
    // A table indexed by the fingerprint's bits took 490 bytes per id, and minutes.
    expect(table.bytes / table.count).toBeLessThan(60);
  });

  it('forgets the day after the last one', () => {
    const table = createFingerprintTable();
    const words = keys(1);
    table.today(TODAY);
    table.add(words, 0, TODAY);
    table.today(TODAY + DAYS_KNOWN);
    expect(table.has(words, 0)).toBe(true);
    table.today(TODAY + DAYS_KNOWN + 2);
    expect(table.has(words, 0)).toBe(false);
    table.add(words, 0, TODAY + DAYS_KNOWN + 2);
    expect(table.has(words, 0)).toBe(true);
  });

  it('behaves like a map from key to day, with any order of adding, days and sweeps', () => {
    const words = keys(400);
    const step = fc.oneof(
      { weight: 20, arbitrary: fc.record({ add: fc.nat(399), age: fc.nat(100) }) },
      { weight: 2, arbitrary: fc.record({ days: fc.integer({ min: 1, max: 40 }) }) },
      { weight: 1, arbitrary: fc.constant({ sweep: true }) },
    );
    fc.assert(
      fc.property(fc.array(step, { maxLength: 300 }), (steps) => {
        const table = createFingerprintTable();
        const model = new Map<number, number>();
        let [today, swept] = [TODAY, TODAY];
        table.today(today);
        for (const one of steps) {
          if ('add' in one) {
            const day = today - one.age;
            table.add(words, 4 * one.add, day);
            model.set(one.add, Math.max(day, model.get(one.add) ?? 0));
          } else if ('days' in one) {
            today += one.days;
            table.today(today);
          }
          if ('sweep' in one || today - swept > 90) {
            for (const _ of table.sweep());
            swept = today;
          }
        }
        for (let key = 0; key < 400; key += 1) {
          const isKnown = today - (model.get(key) ?? -Infinity) <= DAYS_KNOWN + 1;
          if (table.has(words, 4 * key) !== isKnown) return false;
        }
        return true;
      }),
      { numRuns: 300 },
    );
  });
});

it('a set of new fingerprints accepts each once', () => {
  const set = createFreshSet(10);
  const words = keys(20);
  const added = Array.from({ length: 20 }, (_, n) => set.add(words, 4 * (n % 10)));
  expect(added.filter(Boolean)).toHaveLength(10);
  expect([set.has(words, 0), set.has(words, 4 * 15)]).toEqual([true, false]);
});
