import { beforeAll, expect, it } from '@jest/globals';
import { findDelivery } from '../../query/reporting/find-delivery.ts';
import { createProjectionProgress } from '../../shared/follow-log/projection-progress.ts';
import { useReadModelDatabase } from '../support/read-model-database.ts';
import { rowsRead } from '../support/rows-read.ts';

/** What a report reads depends on its days, not on how long the account has had conversions and media buys. */

const readModels = useReadModelDatabase();
const CUSTOMER = 7;
const CUSTOMERS = 40;
const AT_ONCE = 5;
const DAYS = 400;
const MEDIA_BUYS = 5;
const SOURCES = 3;
/** Hours with conversions in a day. */
const HOURS = 4;
const progress = createProjectionProgress();

beforeAll(async () => {
  // A statement has a time limit.
  for (let first = 1; first < CUSTOMERS; first += AT_ONCE) await fill(first, first + AT_ONCE - 1);
  await readModels.pool.query('analyze seller_delivery_days, conversion_hours');
}, 60_000);

const fill = async (first: number, last: number): Promise<void> => {
  await readModels.pool.query(
    `insert into seller_delivery_days
       (customer_id, day, seller_id, media_buy_id, revision, currency, impressions, reported_at)
     select c, '2026-01-01'::date + d, 1, 'buy-' || b, 1, 'USD', 10, now()
     from generate_series(${first}, ${last}) c, generate_series(0, ${DAYS - 1}) d, generate_series(1, ${MEDIA_BUYS}) b`,
  );
  await readModels.pool.query(
    `insert into conversion_hours
       (customer_id, source_id, hour, event_type, currency, advertiser_id, event_count, value_sum)
     select c, lpad(s::text, 32, '0')::uuid, '2026-01-01'::timestamptz + h * interval '${24 / HOURS} hours', 'purchase', 'USD', s, 1, 1
     from generate_series(${first}, ${last}) c, generate_series(1, ${SOURCES}) s, generate_series(0, ${DAYS * HOURS - 1}) h`,
  );
};

it.each([
  ['of all', {}],
  ['of an advertiser', { advertiserId: 2 }],
])('a report %s reads the rows of its days', async (_of, filters) => {
  const start = Date.parse('2026-06-01T00:00:00Z') / 86_400_000;
  const read = (days: number): Promise<number> =>
    rowsRead(readModels, ['seller_delivery_days', 'conversion_hours'], (database) =>
      findDelivery({ database, progress }, CUSTOMER, { start, end: start + days - 1 }, filters, [
        'date',
        'advertiser',
      ]),
    );
  expect(await read(7)).toBeLessThan(7 * (MEDIA_BUYS + HOURS * SOURCES) * 1.5);
  expect(await read(90)).toBeLessThan(90 * (MEDIA_BUYS + HOURS * SOURCES) * 1.5);
});
