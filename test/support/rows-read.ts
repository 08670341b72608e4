import { expect } from '@jest/globals';
import type { TenantDatabase } from '../../shared/postgres/tenant-database.ts';
import { nodesOf, type PlanNode } from './plan-nodes.ts';
import type { ReadModelDatabase } from './read-model-database.ts';

/**
 * Rows of the tables that the queries of `ask` read, also those that a filter removed: with a plan for the given values,
 * or with a generic one if that reads more. Fails if a table is read whole.
 */
export const rowsRead = async (
  readModels: ReadModelDatabase,
  tables: readonly string[],
  ask: (database: TenantDatabase) => Promise<unknown>,
): Promise<number> => {
  let read = 0;
  await ask({
    ...readModels.tenant,
    query: async (customerId, query) => {
      const plans = await plansOf(readModels, query);
      const ofPlans = plans.map((plan) => {
        const nodes = nodesOf(plan).filter((one) => tables.includes(one['Relation Name'] ?? ''));
        for (const node of nodes) expect(node['Node Type']).not.toBe('Seq Scan');
        return nodes.reduce(
          (sum, node) =>
            sum + (node['Actual Rows'] + (node['Rows Removed by Filter'] ?? 0)) * node['Actual Loops'],
          0,
        );
      });
      read += Math.max(...ofPlans);
      return readModels.tenant.query(customerId, query);
    },
  });
  return read;
};

const plansOf = async (
  { pool }: ReadModelDatabase,
  { name, text, values }: Parameters<TenantDatabase['query']>[1],
): Promise<readonly (PlanNode | undefined)[]> => {
  const client = await pool.connect();
  try {
    await client.query({ name, text, values: [...values] });
    const given = (values as readonly (string | number | boolean | null)[]).map((value) =>
      value === null ? 'null' : client.escapeLiteral(String(value)),
    );
    const plans: (PlanNode | undefined)[] = [];
    for (const mode of ['force_custom_plan', 'force_generic_plan']) {
      await client.query(`set plan_cache_mode = ${mode}`);
      const { rows } = await client.query<{ 'QUERY PLAN': [{ Plan: PlanNode }] }>(
        `explain (analyze, timing off, format json) execute ${client.escapeIdentifier(name)} (${given.join(', ')})`,
      );
      plans.push(rows[0]?.['QUERY PLAN'][0].Plan);
    }
    return plans;
  } finally {
    client.release(true);
  }
};
