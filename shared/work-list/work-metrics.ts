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
          text: `select k.kind,
                   (select count(*)::int from work_list w
                    where w.kind = k.kind and w.leased_until is null and w.due_at <= now()) as due,
                   coalesce((select extract(epoch from now() - min(w.due_at)) from work_list w
                    where w.kind = k.kind and w.leased_until is null and w.due_at <= now()), 0)::float8 as seconds,
                   (select count(*)::int from work_list w
                    where w.kind = k.kind and w.last_error is not null) as failing
                 from unnest($1::text[]) as k(kind)`,
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
