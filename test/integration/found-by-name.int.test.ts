import { expect, it } from '@jest/globals';
import { catalogsTable } from '../../query/catalogs/list.ts';
import { ownersOfKey } from '../../query/resources/resource-reads.ts';
import type { TenantDatabase } from '../../shared/postgres/tenant-database.ts';
import { createProjectionProgress } from '../../shared/follow-log/projection-progress.ts';
import { useReadModelDatabase } from '../support/read-model-database.ts';

const models = useReadModelDatabase();

it('reads at most the rows that it returns', async () => {
  await models.pool.query(
    `insert into catalogs (customer_id, id, advertiser_id, key, status, revision, created_at, body)
     select 1, gen_random_uuid(), n, 'common', 'ACTIVE', 0, now(), '{}' from generate_series(1, 3000) n`,
  );
  await models.pool.query('vacuum analyze catalogs');
  const plan: string[] = [];
  const database: TenantDatabase = {
    ...models.tenant,
    query: async (customerId, query) => {
      const { rows } = await models.pool.query<{ 'QUERY PLAN': string }>({
        text: `explain (analyze, costs off, timing off) ${query.text}`,
        values: [...query.values],
      });
      plan.push(...rows.map((row) => row['QUERY PLAN']));
      return models.tenant.query(customerId, query);
    },
  };
  const reads = { database, progress: createProjectionProgress() };
  expect(await ownersOfKey(reads, catalogsTable, 1, 'common', 101)).toHaveLength(101);
  const scans = plan.filter((line) => line.includes('catalogs_by_key'));
  expect(scans).toHaveLength(1);
  expect(Number(/rows=(\d+)/.exec(scans[0] ?? '')?.[1])).toBe(101);
});
