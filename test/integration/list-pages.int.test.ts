import { beforeAll, expect, it } from '@jest/globals';
import { listAdvertisers, type AdvertiserFilters } from '../../query/advertisers/list.ts';
import { createProjectionProgress } from '../../shared/follow-log/projection-progress.ts';
import { useReadModelDatabase } from '../support/read-model-database.ts';

const COUNT = 23;
const readModels = useReadModelDatabase();
beforeAll(async () => {
  const { pool } = readModels;
  // Four rows per time, so that the id decides; rows of another account in between.
  await pool.query(
    `insert into advertisers (customer_id, id, revision, status, sandbox, name, created_at, body)
     select 1 + n % 2, n, 0, case when n % 6 < 4 then 'ACTIVE' else 'ARCHIVED' end, n % 10 < 2, 'Name ' || n,
       timestamptz '2026-01-01' + (n / 4) * interval '1 second', n::text
     from generate_series(1, $1::int * 2) n`,
    [COUNT],
  );
  await pool.query(
    `insert into advertiser_counts select customer_id, status, sandbox, count(*) from advertisers group by 1, 2, 3`,
  );
});
const page = (filters: AdvertiserFilters, skip: number, take: number) =>
  listAdvertisers({ database: readModels.tenant, progress: createProjectionProgress() }, 1, filters, {
    skip,
    take,
  });

const expected = async ({ status, sandbox, name }: AdvertiserFilters): Promise<number[]> => {
  const { rows } = await readModels.pool.query<{ body: string }>(
    `select body from advertisers where customer_id = 1 and ($1 = 'ALL' or status = $1)
       and ($2::boolean is null or sandbox = $2) and ($3::text is null or name ilike '%' || $3 || '%')
     order by created_at desc, id desc`,
    [status, sandbox, name],
  );
  return rows.map(({ body }) => Number(body));
};

it.each<AdvertiserFilters>([
  { status: 'ALL' },
  { status: 'ACTIVE' },
  { status: 'ARCHIVED' },
  { status: 'ALL', sandbox: true },
  { status: 'ACTIVE', sandbox: false },
  { status: 'ALL', name: 'nAME 1' },
  { status: 'ACTIVE', sandbox: false, name: '2' },
  { status: 'ALL', name: 'nothing like it' },
])('every page, from either end of the list, is correct: %j', async (filters) => {
  const all = await expected(filters);
  for (let skip = 0; skip <= all.length + 2; skip += 1) {
    for (const take of [1, 2, 5, 50]) {
      const { items, total } = await page(filters, skip, take);
      expect({ skip, take, items: JSON.parse(items) as unknown, total }).toEqual({
        skip,
        take,
        items: all.slice(skip, skip + take),
        total: all.length,
      });
    }
  }
});
