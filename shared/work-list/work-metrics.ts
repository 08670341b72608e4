import type { Pool } from 'pg';
import { Gauge, type Registry } from 'prom-client';

export const createWorkMetrics = (registry: Registry, pool: Pool, kinds: readonly string[]): void => {
  let reading: Promise<void> | undefined;
  /** A scrape collects all gauges at once: each waits for the same statement. */
  const collect = (): Promise<void> => {
    reading ??= read().finally(() => {
      reading = undefined;
    });
    return reading;
  };
  const gauge = (name: string, help: string): Gauge<'kind'> =>
    new Gauge({ name, help, labelNames: ['kind'], registers: [registry], collect });
  const backlog = gauge('exchange_work_due', 'Entries of the work list that are due and have no worker yet');
  const oldest = gauge(
    'exchange_work_oldest_due_seconds',
    'How long the oldest entry of the work list has been due without a worker, seconds; 0: none is',
  );
  const failing = gauge(
    'exchange_work_failing',
    'Entries of the work list whose last try failed and that will be tried again',
  );

  const read = async (): Promise<void> => {
    const { rows } = await pool
      .query<{ kind: string; due: number; seconds: number; failing: number }>({
        name: 'work-backlog',
        text: `select k.kind,
                 (select count(*)::int from work_list w
                  where w.kind = k.kind and w.leased_until is null and w.due_at <= now()) as due,
                 coalesce((select extract(epoch from now() - min(w.due_at)) from work_list w
                  where w.kind = k.kind and w.leased_until is null and w.due_at <= now()), 0)::float8 as seconds,
                 (select count(*)::int from work_list w
                  where w.kind = k.kind and w.last_error is not null and w.due_at < 'infinity') as failing
               from unnest($1::text[]) as k(kind)`,
        values: [kinds],
      })
      .catch(() => ({ rows: [] }));
    for (const one of [backlog, oldest, failing]) one.reset();
    for (const { kind, due, seconds, failing: count } of rows) {
      backlog.set({ kind }, due);
      oldest.set({ kind }, seconds);
      failing.set({ kind }, count);
    }
  };
};
