import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import {
  deliveryMetrics,
  deliveryRows,
  deliveryTotals,
  type DeliveryFact,
} from '../../domain/reporting/delivery-report.ts';
import { dayOfMs, dayText, readDay } from '../../domain/reporting/day.ts';
import { periodOf } from '../../domain/reporting/period.ts';

const dataThrough = '2026-03-01T12:00:00.000Z';
const of = (millionths: number, count = 1) => ({ millionths: BigInt(millionths), count });
const fact = (more: Partial<DeliveryFact>): DeliveryFact => ({
  dimensions: {},
  isUnassigned: false,
  currency: 'USD',
  measures: {},
  dataThrough,
  ...more,
});
const rowsOf = (...facts: DeliveryFact[]) => deliveryRows(facts, deliveryMetrics);
const totalsOf = (...facts: DeliveryFact[]) => deliveryTotals(facts, deliveryMetrics, 0);

describe('rows', () => {
  it('have no metric that is not reported, and no ratio without both parts', () => {
    const measures = { impressions: of(2_000_000_000), spend: of(5_000_000) };
    expect(rowsOf(fact({ measures }))).toEqual([
      { dimensions: {}, metrics: { impressions: 2_000, spend: 5, ecpm: 2.5 }, currency: 'USD', dataThrough },
    ]);
  });

  it('show a reported zero, and divide by none', () => {
    const measures = { impressions: of(0), clicks: of(0), spend: of(0) };
    expect(rowsOf(fact({ measures }))[0]?.metrics).toEqual({ impressions: 0, clicks: 0, spend: 0 });
  });

  it('have no ratio if a media buy reported one part alone', () => {
    const [row] = rowsOf(
      fact({ measures: { impressions: of(100_000_000), clicks: of(5_000_000), spend: of(1_000_000) } }),
      fact({ measures: { impressions: of(900_000_000), spend: of(1_000_000) } }),
    );
    expect(row?.metrics).toEqual({ impressions: 1_000, clicks: 5, spend: 2, ecpm: 2 });
  });

  it('never sum currencies', () => {
    const facts = [
      fact({ measures: { spend: of(1_000_000) } }),
      fact({ measures: { spend: of(2_000_000) }, currency: 'EUR' }),
      fact({ measures: { conversions: of(4_000_000) }, currency: null }),
    ];
    expect(rowsOf(...facts).map(({ currency, metrics }) => [currency, metrics])).toEqual([
      ['EUR', { spend: 2 }],
      ['USD', { spend: 1 }],
      [null, { conversions: 4 }],
    ]);
    expect(totalsOf(...facts)).toEqual({ rowsIncluded: 0, metrics: { conversions: 4 }, currency: null });
  });

  it('count conversions without a value in the only currency', () => {
    const facts = [
      fact({ measures: { conversions: of(4_000_000) }, currency: null }),
      fact({ measures: { conversions: of(1_000_000), conversion_value: of(30_000_000) } }),
      fact({ measures: { spend: of(10_000_000) } }),
    ];
    const metrics = { spend: 10, conversions: 5, conversion_value: 30, cpa: 2, roas: 3 };
    expect(rowsOf(...facts)).toEqual([{ dimensions: {}, metrics, currency: 'USD', dataThrough }]);
    expect(totalsOf(...facts)).toEqual({ rowsIncluded: 0, metrics, currency: 'USD' });
  });

  it('are left out without a wanted metric', () => {
    const facts = [fact({ measures: { conversions: of(1_000_000) } })];
    expect(deliveryRows(facts, ['spend'])).toEqual([]);
  });
});

const measure = fc.record({ millionths: fc.bigInt(0n, 10n ** 12n), count: fc.integer({ min: 1, max: 5 }) });
const anyFact: fc.Arbitrary<DeliveryFact> = fc.record({
  dimensions: fc.record(
    {
      date: fc.integer({ min: 20_000, max: 20_090 }).map(dayText),
      advertiser: fc.integer({ min: 1, max: 3 }),
      seller: fc.integer({ min: 1, max: 3 }),
    },
    { requiredKeys: ['date'] },
  ),
  isUnassigned: fc.boolean(),
  currency: fc.constantFrom('USD', 'EUR', null),
  measures: fc.record(
    {
      impressions: measure,
      spend: measure,
      clicks: measure,
      conversions: measure,
      conversion_value: measure,
    },
    { requiredKeys: [] },
  ),
  dataThrough: fc.constantFrom(dataThrough, '2026-03-02T00:00:00.000Z'),
});
const facts = fc.array(anyFact, { maxLength: 40 });
const counts = ['impressions', 'clicks', 'conversions'] as const;

describe('sums', () => {
  it('are the same for any partition of the days', () => {
    fc.assert(
      fc.property(facts, fc.integer({ min: 20_000, max: 20_090 }), (all, split) => {
        const isBefore = ({ dimensions: { date = '' } }: DeliveryFact) => date < dayText(split);
        const parts = [all.filter(isBefore), all.filter((one) => !isBefore(one))];
        for (const currency of ['USD', 'EUR']) {
          const spentIn = (some: readonly DeliveryFact[]) =>
            deliveryTotals(
              some.filter((one) => one.currency === currency),
              ['spend'],
              0,
            ).metrics.spend ?? 0;
          expect(parts.map(spentIn).reduce((a, b) => a + b)).toBeCloseTo(spentIn(all), 5);
        }
        for (const metric of counts) {
          const sumOf = (some: readonly DeliveryFact[]) =>
            deliveryTotals(some, [metric], 0).metrics[metric] ?? 0;
          expect(parts.map(sumOf).reduce((a, b) => a + b)).toBeCloseTo(sumOf(all), 5);
        }
      }),
    );
  });

  it('are the same by any dimensions, and in any order', () => {
    fc.assert(
      fc.property(facts, fc.subarray(['date', 'advertiser', 'seller'] as const), (all, dimensions) => {
        const coarse = all.map((one) => ({
          ...one,
          dimensions: Object.fromEntries(
            Object.entries(one.dimensions).filter(([name]) => (dimensions as string[]).includes(name)),
          ),
        }));
        const rows = deliveryRows(coarse, deliveryMetrics);
        expect(deliveryRows(coarse.toReversed(), deliveryMetrics)).toEqual(rows);
        expect(deliveryTotals(coarse, deliveryMetrics, 0)).toEqual(deliveryTotals(all, deliveryMetrics, 0));
        for (const metric of counts) {
          const sum = rows.reduce((total, { metrics }) => total + (metrics[metric] ?? 0), 0);
          expect(sum).toBeCloseTo(deliveryTotals(all, [metric], 0).metrics[metric] ?? 0, 5);
        }
      }),
    );
  });
});

describe('periods', () => {
  const today = dayOfMs(Date.parse('2026-03-01T23:59:59.999Z'));
  const day = (text: string) => readDay(text) as number;
  it.each([
    [{}, '2026-02-23', '2026-03-01'],
    [{ startDate: day('2026-02-01') }, '2026-02-01', '2026-03-01'],
    [{ endDate: day('2026-01-07') }, '2026-01-01', '2026-01-07'],
    [{ startDate: day('2025-12-02'), endDate: day('2026-03-01') }, '2025-12-02', '2026-03-01'],
    [{ startDate: day('2026-04-01') }, '2026-04-01', '2026-04-01'],
    [{ lifetime: true }, '2025-01-26', '2026-03-01'],
  ])('%j', (asked, start, end) => {
    expect(periodOf(asked, today)).toEqual({ start: day(start), end: day(end) });
  });

  it.each([
    { startDate: day('2025-12-01'), endDate: day('2026-03-01') },
    { startDate: day('2026-03-01'), endDate: day('2026-02-28') },
    { startDate: day('2026-03-01'), lifetime: true },
    { endDate: day('2026-03-01'), lifetime: true },
  ])('%j is refused', (asked) => {
    expect(periodOf(asked, today)).toEqual(expect.any(String));
  });

  it.each([
    '2026-02-29',
    '2026-13-01',
    '2026-1-1',
    '1969-12-31',
    '+002026-01-01',
    '2026-03-01T00:00:00Z',
    '',
  ])('%j is not a day', (text) => {
    expect(readDay(text)).toEqual(expect.any(String));
  });
});
