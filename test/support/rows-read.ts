import { expect } from '@jest/globals';
import type { TenantDatabase } from '../../shared/postgres/tenant-database.ts';
import { nodesOf, type PlanNode } from './plan-nodes.ts';
import type { ReadModelDatabase } from './read-model-database.ts';

/** Rows of the tables that the queries of `ask` read, also those that a filter removed. Fails if a table is read whole. */
export const rowsRead = async (
  readModels: ReadModelDatabase,
  tables: readonly string[],
  ask: (database: TenantDatabase) => Promise<unknown>,
): Promise<number> => {
  let read = 0;
  await ask({
    ...readModels.tenant,
    query: async (customerId, query) => {
      const { rows } = await readModels.pool.query<{ 'QUERY PLAN': [{ Plan: PlanNode }] }>(
        `explain (analyze, timing off, format json) ${query.text}`,
        [...query.values],
      );
      const nodes = nodesOf(rows[0]?.['QUERY PLAN'][0].Plan);
      for (const node of nodes.filter((one) => tables.includes(one['Relation Name'] ?? ''))) {
        expect(node['Node Type']).not.toBe('Seq Scan');
        read += (node['Actual Rows'] + (node['Rows Removed by Filter'] ?? 0)) * node['Actual Loops'];
      }
      return readModels.tenant.query(customerId, query);
    },
  });
  return read;
};
