import type { Pool } from 'pg';
import { Gauge, type Registry } from 'prom-client';

/** What is due and has no worker yet. A database that does not answer leaves both gauges out. */
export const createBacklogMetrics = (registry: Registry, pool: Pool): void => {
  const oldest = new Gauge({
    name: 'syndication_oldest_due_seconds',
    help: 'How long the oldest syndication has been due without a worker, seconds; 0: none is',
    registers: [registry],
  });
  const backlog = new Gauge({
    name: 'syndication_due',
    help: 'Syndications that are due and have no worker yet',
    registers: [registry],
    collect: async () => {
      const { rows } = await pool
        .query<{ count: number; seconds: number }>({
          name: 'syndication-backlog',
          text: `select count(*)::int as count,
                   coalesce(extract(epoch from now() - min(due_at)), 0)::float8 as seconds
                 from syndication_work where not has_turn and due_at <= now()`,
        })
        .catch(() => ({ rows: [] }));
      backlog.reset();
      oldest.reset();
      for (const { count, seconds } of rows) {
        backlog.set(count);
        oldest.set(seconds);
      }
    },
  });
};
