import { randomUUID } from 'node:crypto';
import { expect, it } from '@jest/globals';
import { deliveryPageQuery } from '../../query/webhooks/deliveries.ts';
import { nodesOf, type PlanNode } from '../support/plan-nodes.ts';
import { useReadModelDatabase } from '../support/read-model-database.ts';

const readModels = useReadModelDatabase();

it('a page reads as many deliveries as it shows, also for a state that is rare, without sorting', async () => {
  const { pool } = readModels;
  const subscriptionId = randomUUID();
  await pool.query(
    `insert into webhook_deliveries (customer_id, id, subscription_id, message_id, kind, state, created_at)
     select 1 + n % 2, gen_random_uuid(), $1, gen_random_uuid(), 'creative.updated',
       case when n % 1000 < 2 then 'failed' else 'delivered' end, timestamptz '2026-01-01' + n * interval '1 s'
     from generate_series(1, 20000) n`,
    [subscriptionId],
  );
  await pool.query('analyze webhook_deliveries');
  const after = { at: '2026-01-01T04:00:00.123456Z', id: randomUUID() };
  for (const filter of [
    {},
    { state: 'failed' },
    { state: 'failed', since: '2026-01-01T01:00:00Z' },
  ] as const) {
    for (const place of [undefined, after]) {
      const { name, text, values } = deliveryPageQuery(1, subscriptionId, filter, place, 10);
      const { rows } = await pool.query<{ 'QUERY PLAN': readonly { Plan: PlanNode }[] }>(
        `explain (analyze, format json) ${text}`,
        values,
      );
      const scans = nodesOf(rows[0]?.['QUERY PLAN'][0]?.Plan).filter(
        (node) => node['Relation Name'] === 'webhook_deliveries',
      );
      const read = scans.map((node) => [
        node['Node Type'],
        node['Actual Rows'] + (node['Rows Removed by Filter'] ?? 0),
      ]);
      expect([name, read]).toEqual([name, [['Index Scan', 11]]]);
    }
  }
});
