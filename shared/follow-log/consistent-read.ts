import type { QueryResultRow } from 'pg';
import { sleep } from '../async/backoff.ts';
import type { Freshness } from './written-position.ts';
import type { ProjectionProgress } from './projection-progress.ts';

export interface FreshQuery {
  readonly name: string;
  readonly text: string;
  readonly values: readonly unknown[];
  readonly planOnce?: boolean;
}

export interface ConsistentRead {
  readonly pool: {
    query(query: FreshQuery): Promise<{ readonly rows: readonly QueryResultRow[] }>;
  };
  readonly projection: string;
  readonly query: FreshQuery;
  readonly progress?: ProjectionProgress | undefined;
  /** Default 2,000. */
  readonly waitMs?: number | undefined;
}

/** The caller folds the stream itself, or answers 503. */
export class ReadModelBehindError extends Error {
  override readonly name = 'ReadModelBehindError';
  readonly projection: string;

  constructor(projection: string, waitedMs: number) {
    super(`${projection} has not reached the account's last write after ${waitedMs} ms`);
    this.projection = projection;
  }
}

const WAIT_MS = 2_000;
const POLL_MS = [2, 5, 10, 20, 25] as const;

/** Random, so that readers that start together do not poll together. */
const pollMs = (tries: number): number =>
  (POLL_MS[Math.min(tries, POLL_MS.length - 1)] as number) * (1 - Math.random() / 2);

export type WaitOptions = Pick<ConsistentRead, 'projection' | 'progress' | 'waitMs'>;

/** The row contains all writes of its account, on any node. @throws ReadModelBehindError */
export const consistentRead = <Row extends QueryResultRow & FreshnessColumns>(
  options: ConsistentRead,
): Promise<Row> => {
  const { pool, query } = options;
  return readUntilFresh(options, async () => {
    const row = (await pool.query(query)).rows[0] as Row | undefined;
    if (row === undefined) throw new Error(`${query.name} must return one row`);
    return row;
  });
};

type FreshnessColumns = { readonly fresh: boolean } | Freshness;

/** Waits only for writes before the first attempt: else reads of a busy account would time out. */
export const readUntilFresh = async <Row extends FreshnessColumns>(
  { projection, progress, waitMs = WAIT_MS }: WaitOptions,
  ask: () => Promise<Row>,
): Promise<Row> => {
  const start = performance.now();
  let target: string | undefined;
  for (let tries = 0; ; tries += 1) {
    const seen = progress?.version(projection) ?? 0;
    const row = await ask();
    if (row.fresh) return row;
    if ('reached' in row) {
      target ??= row.written;
      if (row.reached >= target) return row;
    }
    const leftMs = waitMs - (performance.now() - start);
    if (leftMs <= 0) throw new ReadModelBehindError(projection, waitMs);
    const pauseMs = Math.min(leftMs, pollMs(tries));
    await (progress?.beyond(projection, seen, pauseMs) ?? sleep(pauseMs));
  }
};
