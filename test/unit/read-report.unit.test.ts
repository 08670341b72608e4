import { expect, it } from '@jest/globals';
import { readReport } from '../../command/workers/reporting/read-report.ts';

it.each([
  ['of the whole day', '2026-03-02T00:00:00Z', '2026-03-03T00:00:00Z', 1],
  ['that ends at the last second', '2026-03-02T00:00:00Z', '2026-03-02T23:59:59Z', 1],
  ['of a media buy that starts during the day', '2026-03-02T15:00:00Z', '2026-03-02T18:00:00Z', 1],
  ['of no length at the start', '2026-03-02T00:00:00Z', '2026-03-02T00:00:00Z', 1],
  [
    'of no length at the next midnight, which is the next day',
    '2026-03-03T00:00:00Z',
    '2026-03-03T00:00:00Z',
    0,
  ],
  ['that starts before', '2026-03-01T23:59:59Z', '2026-03-02T12:00:00Z', 0],
  ['that ends later', '2026-03-02T00:00:00Z', '2026-03-03T00:00:01Z', 0],
  ['that ends before its start', '2026-03-02T12:00:00Z', '2026-03-02T11:00:00Z', 0],
])('totals of a period %s count for the day or not', (_, start, end, count) => {
  const report = {
    currency: 'USD',
    reporting_period: { start, end },
    media_buy_deliveries: [{ media_buy_id: 'mb', totals: { impressions: 1 } }],
  };
  const of = { day: '2026-03-02', references: [], isOnlyAccount: true, listed: undefined };
  expect(readReport(report, of)).toMatchObject({
    buys: Array.from({ length: count }, () => ({ mediaBuyId: 'mb' })),
  });
});
