import { expect, it } from '@jest/globals';
import { nameHas } from '../../src/audited-kinds/places.ts';
import { catalogsTable } from '../../src/query/catalogs/routes.ts';
import { ownersOfKey } from '../../src/query/resources/resource-reads.ts';
import type { TenantDatabase } from '../../src/shared/postgres/tenant-database.ts';
import { createProjectionProgress } from '../../src/shared/read-your-writes/projection-progress.ts';
import { useReadModelDatabase } from '../support/read-model-database.ts';

const models = useReadModelDatabase();

it('a list of the past looks for a part of a name as the statement of the list does', async () => {
  const pairs = [
    ['Oakwood', 'oAK'],
    ['Oakwood', 'elm'],
    ['ÖLBERG', 'ölb'],
    ['STRASSE', 'straße'],
    // Each character is lowered by itself: no sigma is another one at the end of a word, and İ is one i.
    ['ΟΔΟΣΑ', 'ΟΔΟΣ'],
    ['ΟΔΟΣ', 'οδοσ'],
    ['İzmir', 'izm'],
    ['𐐀𐐁', '𐐩'],
  ] as const;
  const { rows } = await models.pool.query<{ has: boolean }>(
    `select position(lower(part) in lower(name)) > 0 as has
     from unnest($1::text[], $2::text[]) with ordinality n(name, part, place) order by place`,
    [pairs.map(([name]) => name), pairs.map(([, part]) => part)],
  );
  const listed = pairs.map(([name, part], n) => [name, part, rows[n]?.has]);
  expect(pairs.map(([name, part]) => [name, part, nameHas(name, part)])).toEqual(listed);
});

it('reads no more of those who have a key than it tells', async () => {
  await models.pool.query(
    `insert into catalogs (customer_id, id, advertiser_id, key, status, revision, created_at, body)
     select 1, gen_random_uuid(), n, 'common', 'ACTIVE', 0, now(), '{}' from generate_series(1, 3000) n`,
  );
  await models.pool.query('vacuum analyze catalogs');
  const told: string[] = [];
  const database: TenantDatabase = {
    ...models.tenant,
    query: async (customerId, query) => {
      const { rows } = await models.pool.query<{ 'QUERY PLAN': string }>({
        text: `explain (analyze, costs off, timing off) ${query.text}`,
        values: [...query.values],
      });
      told.push(...rows.map((row) => row['QUERY PLAN']));
      return models.tenant.query(customerId, query);
    },
  };
  const reads = { database, progress: createProjectionProgress() };
  expect(await ownersOfKey(reads, catalogsTable, 1, 'common', 101)).toHaveLength(101);
  const looked = told.filter((line) => line.includes('catalogs_by_key'));
  expect(looked).toHaveLength(1);
  expect(Number(/rows=(\d+)/.exec(looked[0] ?? '')?.[1])).toBe(101);
});
