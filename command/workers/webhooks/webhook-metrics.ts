import type { Pool } from 'pg';
import { Counter, Gauge, type Registry } from 'prom-client';
import { GONE } from './attempt.ts';
import type { Outcome } from './settle-outcomes.ts';

/** For one endpoint: a scrape must not count a long backlog. */
const COUNTED_MAX = 10_000;

/** @returns counts an attempt */
export const createWebhookMetrics = (registry: Registry, pool: Pool): ((outcome: Outcome) => void) => {
  const attempts = new Counter({
    name: 'exchange_webhook_attempts_total',
    help: 'Attempts to deliver webhooks by outcome: `delivered`, `retry`, `failed` (the last one) or `gone` (status 410)',
    labelNames: ['outcome'],
    registers: [registry],
  });
  registry.registerMetric(
    new Gauge({
      name: 'exchange_webhook_deliveries_due',
      help: `Deliveries that are due at active endpoints, counted up to ${COUNTED_MAX.toLocaleString('en')} for each`,
      registers: [],
      collect: async function () {
        const { rows } = await pool
          .query<{ due: number }>({
            name: 'webhook-backlog',
            text: `select coalesce(sum(due.count), 0)::int as due from webhook_endpoints e cross join lateral (
                   select count(*) from (
                     select from webhook_deliveries d
                     where d.customer_id = e.customer_id and d.subscription_id = e.subscription_id and d.state = 'due'
                       and d.due_at <= now() limit ${COUNTED_MAX}
                   ) first
                 ) due where e.status = 'active'`,
          })
          .catch(() => ({ rows: [] }));
        for (const { due } of rows) this.set(due);
      },
    }),
  );
  return ({ state, attempt }) => {
    attempts.inc({ outcome: state === 'due' ? 'retry' : attempt.status === GONE ? 'gone' : state });
  };
};
