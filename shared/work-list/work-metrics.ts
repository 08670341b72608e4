import type { Pool } from 'pg';
import { Gauge, type Registry } from 'prom-client';

/** What is due and has no worker yet, by kind. A database that does not answer leaves the gauges out. */
export const createWorkMetrics = (registry: Registry, pool: Pool, kinds: readonly string[]): void => {
  const oldest = new Gauge({
    name: 'work_oldest_due_seconds',
    help: 'How long the oldest entry of the list of work has been due without a worker, seconds; 0: none is',
    labelNames: ['kind'],
    registers: [registry],
  });
  const failing = new Gauge({
    name: 'work_failing',
    help: 'Entries of the list of work whose last try failed',
    labelNames: ['kind'],
    registers: [registry],
  });
  const backlog = new Gauge({
    name: 'work_due',
    help: 'Entries of the list of work that are due and have no worker yet',
    labelNames: ['kind'],
    registers: [registry],
    collect: async () => {
      const { rows } = await pool
        .query<{ kind: string; due: number; seconds: number; failing: number }>({
          name: 'work-backlog',
          text: `select k.kind, count(*) filter (where w.due_at <= now() and w.leased_until is null)::int as due,
                   coalesce(extract(epoch from now() - min(w.due_at)
                     filter (where w.due_at <= now() and w.leased_until is null)), 0)::float8 as seconds,
                   count(w.last_error)::int as failing
                 from unnest($1::text[]) as k(kind) left join work_list w using (kind) group by k.kind`,
          values: [kinds],
        })
        .catch(() => ({ rows: [] }));
      for (const gauge of [backlog, oldest, failing]) gauge.reset();
      for (const { kind, due, seconds, failing: count } of rows) {
        backlog.set({ kind }, due);
        oldest.set({ kind }, seconds);
        failing.set({ kind }, count);
      }
    },
  });
};
