import type { QueryResultRow } from 'pg';
import { sleep } from '../async/backoff.ts';
import type { Freshness } from './account-mark.ts';
import type { ProjectionProgress } from './projection-progress.ts';

/**
 * SQL that is true when a read model holds everything that the account has written so far. As a column
 * `fresh` of a query it is judged in the same snapshot as the query's rows, which is what makes it sound:
 * `select <fresh> as fresh, (select ...) as body`.
 *
 * An account's last position is written by the append itself, so it is there before the write is answered.
 * Both columns are `collate "C"`, the order of positions (event-store.ts).
 * @param customer parameter of the account's id, e.g. `$1`
 * @param projection parameter of the read model's name, e.g. `$2`
 */
export const freshSql = (customer: string, projection: string): string =>
  `(coalesce((select position from account_positions where customer_id = ${customer}), '-') collate "C"
    <= coalesce((select position from projection_checkpoints where name = ${projection}), '-') collate "C")`;

/** A query that returns exactly one row, with a column `fresh` made by `freshSql`. */
export interface FreshQuery {
  /** Of the prepared statement: one name, one text. */
  readonly name: string;
  readonly text: string;
  readonly values: readonly unknown[];
  /** As of `TenantStatement`. */
  readonly planOnce?: boolean;
}

export interface ConsistentRead {
  readonly pool: {
    query(query: FreshQuery): Promise<{ readonly rows: readonly QueryResultRow[] }>;
  };
  /** The read model that is read. */
  readonly projection: string;
  readonly query: FreshQuery;
  /** Of this process, to be woken early. Default: polling only. */
  readonly progress?: ProjectionProgress | undefined;
  /** How long the read waits for the read model at most. Default 2,000. */
  readonly waitMs?: number | undefined;
}

/** The read model is further behind than a read waits: the caller folds the stream itself, or answers 503. */
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

/** Between half of and the whole step, so that readers who began together do not stay together. */
const pollMs = (tries: number): number =>
  (POLL_MS[Math.min(tries, POLL_MS.length - 1)] as number) * (1 - Math.random() / 2);

/** How a read waits for its read model. */
export type Waiting = Pick<ConsistentRead, 'projection' | 'progress' | 'waitMs'>;

/**
 * Reads a row that holds all that its account has written, on whatever node. Usually one round trip: only
 * when the read model is behind the account's last write does it wait and ask again, without holding a
 * connection meanwhile.
 * @returns the first row that is fresh
 * @throws ReadModelBehindError after `waitMs`; any error of the query
 */
export const consistentRead = <Row extends QueryResultRow & Judged>(
  options: ConsistentRead,
): Promise<Row> => {
  const { pool, query } = options;
  return readUntilFresh(options, async () => {
    const row = (await pool.query(query)).rows[0] as Row | undefined;
    if (row === undefined) throw new Error(`${query.name} must return one row`);
    return row;
  });
};

/** What a read is judged by: `freshSql` alone, or all of `freshnessSql` (`account-mark.ts`). */
type Judged = { readonly fresh: boolean } | Freshness;

/**
 * The same for whatever way of asking. With `written` and `reached` a read waits only for what its account had
 * written when it first asked: an account that never stops writing would else outrun its read model for ever,
 * and its reads would all wait in vain.
 * @param ask asks the database anew each time
 */
export const readUntilFresh = async <Row extends Judged>(
  { projection, progress, waitMs = WAIT_MS }: Waiting,
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
