import type { Pool } from 'pg';
import { Registry } from 'prom-client';
import { startProjections, type Projections } from '../../projections/engine/projection-engine.ts';
import type { Projection } from '../../projections/engine/projection.ts';
import type { EventStore } from '../../shared/event-store/event-store.ts';
import { createPostgresEventStore } from '../../shared/event-store/postgres/postgres-event-store.ts';
import { createPool } from '../../shared/postgres/pool.ts';
import type { ProjectionProgress } from '../../shared/follow-log/projection-progress.ts';
import { createTestDatabase } from './test-database.ts';
import { projectorPool, silent, toyTables } from './toy-projection.ts';
import { until } from './until.ts';

/** A database with the toy read model's tables. Every test calls `open`, which empties it. */
export interface ProjectionFixture {
  readonly url: string;
  /** For appends, assertions and operator commands; no projector uses them. */
  readonly pool: Pool;
  readonly store: EventStore;
  open(): Promise<void>;
  /** A projection engine with its own pool, as in one process. `close` stops it. */
  engine(options: {
    projections: readonly Projection[];
    store?: EventStore;
    pool?: Pool;
    progress?: ProjectionProgress;
    changes?: ProjectionProgress;
  }): Projections & { readonly registry: Registry };
  /** Waits until the checkpoint is at the head of the log. @returns ms */
  caughtUp(projection?: string, timeoutMs?: number): Promise<number>;
  /** Totals of all toy rows and of the unguarded counter. */
  totals(): Promise<{ rows: number; sum: number; events: number; effects: number; parked: number }>;
  close(): Promise<void>;
  drop(): Promise<void>;
}

export const createProjectionFixture = async (): Promise<ProjectionFixture> => {
  const database = await createTestDatabase();
  const { url } = database;
  const pool = createPool({ connectionString: url, applicationName: 'test', max: 10 }, silent);
  await pool.query(toyTables);
  const newStore = (): EventStore => createPostgresEventStore({ connectionString: url, pool, log: silent });
  let store = newStore();
  let closers: (() => Promise<unknown>)[] = [];

  const one = async <T>(sql: string, values: unknown[] = []): Promise<T> =>
    (await pool.query(sql, values)).rows[0] as T;

  return {
    url,
    pool,
    get store() {
      return store;
    },
    open: async () => {
      await pool.query(
        `truncate events, account_positions, projection_checkpoints, parked_streams, toy_rows`,
      );
      await pool.query('update toy_effects set events = 0');
      store = newStore();
      closers = [store.close];
    },
    engine: ({ projections, progress, changes, store: ownStore = store, pool: ownPool }) => {
      const projectors = ownPool ?? projectorPool(url);
      const registry = new Registry();
      const engine = startProjections({
        projections,
        store: ownStore,
        connectionString: url,
        pool: projectors,
        log: silent,
        registry,
        recheckMs: 100,
        ...(progress && { progress }),
        ...(changes && { changes }),
      });
      closers.unshift(async () => {
        await engine.stop();
        await projectors.end();
      });
      return { ...engine, registry };
    },
    caughtUp: (projection = 'toy', timeoutMs) =>
      until(async () => {
        const { done } = await one<{ done: boolean }>(
          `select coalesce((select position from projection_checkpoints where name = $1), '-')
             = lpad((select max(position) from events)::text, 16, '0') as done`,
          [projection],
        );
        return done;
      }, timeoutMs),
    totals: () =>
      one(`select (select count(*)::int from toy_rows) as rows,
                  (select coalesce(sum(sum), 0)::int from toy_rows) as sum,
                  (select coalesce(sum(revision + 1), 0)::int from toy_rows) as events,
                  (select events::int from toy_effects) as effects,
                  (select count(*)::int from parked_streams) as parked`),
    close: async () => {
      for (const close of closers) await close();
      closers = [];
    },
    drop: async () => {
      await pool.end();
      await database.drop();
    },
  };
};
