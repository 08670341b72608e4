import type { ClientBase, Pool } from 'pg';
import type { Logger } from 'pino';

export interface DatabaseClock {
  /** How far this process's clock is ahead of the database's, ms; below `TOLERATED_MS` either way it counts as none. */
  aheadMs(): number;
  /** Finds out how far the clocks are apart now. */
  compare(client: Pick<ClientBase, 'query'>): Promise<void>;
  /** The same pool: what a query is told of the present is what the database's clock says. Compares now and then. */
  correct(pool: Pool): Pool;
}

/** Of that much nothing depends: locks last seconds. */
const TOLERATED_MS = 100;
const COMPARE_EVERY_MS = 30_000;
/** A number that is so close to the clock is a time of the clock; durations and counts are far from it. */
const PRESENT_MS = 5_000;

/**
 * On Postgres BullMQ judges locks by the clock of whichever worker asks, which it passes along: a worker whose clock
 * is minutes ahead takes the others' jobs from under them, and nobody takes over its own when it dies. So the times
 * that it passes are made the database's.
 */
export const databaseClock = (log: Logger, now: () => number = Date.now): DatabaseClock => {
  let ahead = 0;
  let comparedAt = -Infinity;

  const compare = async (client: Pick<ClientBase, 'query'>): Promise<void> => {
    comparedAt = performance.now();
    const before = now();
    const { rows } = await client.query<{ now: number }>(
      `select (extract(epoch from clock_timestamp()) * 1000)::float8 as now`,
    );
    const between = (before + now()) / 2;
    const found = Math.round(between - (rows[0]?.now ?? between));
    const isFar = Math.abs(found) > TOLERATED_MS + (now() - before) / 2;
    if (isFar && ahead === 0) {
      log.warn({ aheadMs: found }, "this machine's clock is not the database's: jobs go by the database's");
    }
    ahead = isFar ? found : 0;
  };

  const corrected = (value: unknown): unknown =>
    typeof value === 'number' && Math.abs(value - now()) < PRESENT_MS ? value - ahead : value;

  return {
    aheadMs: () => ahead,
    compare,
    correct: (pool) => {
      const query = pool.query.bind(pool) as (text: unknown, values?: unknown) => Promise<unknown>;
      const ask = (text: unknown, values?: unknown): Promise<unknown> => {
        if (performance.now() - comparedAt > COMPARE_EVERY_MS) {
          compare({ query: query as ClientBase['query'] }).catch(() => undefined);
        }
        return query(text, ahead === 0 || !Array.isArray(values) ? values : values.map(corrected));
      };
      pool.query = ask as Pool['query'];
      return pool;
    },
  };
};
