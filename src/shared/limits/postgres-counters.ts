import type { Pool } from 'pg';
import { coalesce } from '../coalesce.ts';
import { int4Array, textArray } from '../postgres/binary-array.ts';
import { bySubject, countTogether, ROUND_TRIPS, type Asked, type Question } from './count-together.ts';
import type { OpenWindow, WindowCounters } from './window-counters.ts';

interface WindowRow {
  readonly subject: string;
  readonly count: number;
  readonly ms_left: number;
}

export interface PostgresCounters extends WindowCounters {
  /** Deletes windows that have closed, at most `rowsMax`. @returns how many */
  purge(rowsMax: number): Promise<number>;
}

/**
 * Counters in the table `rate_windows`, by the database's clock. Own code, because the Postgres limiter of
 * `rate-limiter-flexible` makes one statement a request and goes by each process' own clock.
 */
export const createPostgresCounters = (pool: Pick<Pool, 'query'>): PostgresCounters => {
  const read = coalesce((subjects: readonly string[]) => readAll(pool, subjects), ROUND_TRIPS);
  const reopen = coalesce((asked: readonly Question[]) => reopenAll(pool, asked), ROUND_TRIPS);
  return {
    count: countTogether((asked) => countAll(pool, asked)),
    read,
    reopen: (subject, seconds) => reopen({ subject, seconds }),
    purge: (rowsMax) => purge(pool, rowsMax),
  };
};

/**
 * Counts all in one atomic statement. The time is the statement's, the same in all its parts: a window cannot
 * be open in one of them and closed in another. Rows are locked in one order, so batches of several processes
 * cannot lock each other out.
 */
const countAll = async (
  pool: Pick<Pool, 'query'>,
  asked: Asked,
): Promise<ReadonlyMap<string, OpenWindow>> => {
  const { rows } = await pool.query<WindowRow>({
    name: 'rate-windows-count',
    text: `
      insert into rate_windows as w (subject, count, closes_at)
      select subject, times, statement_timestamp() + make_interval(secs => seconds)
      from unnest($1::text[], $2::int[], $3::int[]) as asked(subject, times, seconds)
      order by subject collate "C"
      on conflict (subject) do update set
        count = case when w.closes_at <= statement_timestamp() then excluded.count
                     else w.count + excluded.count end,
        closes_at = case when w.closes_at <= statement_timestamp() then excluded.closes_at
                         else w.closes_at end
      returning subject, count,
        (extract(epoch from closes_at - statement_timestamp()) * 1000)::float8 as ms_left`,
    values: [
      textArray([...asked.keys()]),
      int4Array([...asked.values()].map(({ times }) => times)),
      int4Array([...asked.values()].map(({ seconds }) => seconds)),
    ],
  });
  return new Map(rows.map(({ subject, count, ms_left: msLeft }) => [subject, { count, msLeft }]));
};

const readAll = async (
  pool: Pick<Pool, 'query'>,
  subjects: readonly string[],
): Promise<readonly (OpenWindow | undefined)[]> => {
  const { rows } = await pool.query<WindowRow>({
    name: 'rate-windows-read',
    text: `
      select subject, count, (extract(epoch from closes_at - statement_timestamp()) * 1000)::float8 as ms_left
      from rate_windows where subject = any($1::text[]) and closes_at > statement_timestamp()`,
    values: [textArray([...new Set(subjects)])],
  });
  const open = new Map(rows.map((row) => [row.subject, { count: row.count, msLeft: row.ms_left }]));
  return subjects.map((subject) => open.get(subject));
};

const reopenAll = async (
  pool: Pick<Pool, 'query'>,
  asked: readonly Question[],
): Promise<readonly undefined[]> => {
  const rows = bySubject(asked);
  await pool.query({
    name: 'rate-windows-reopen',
    text: `
      insert into rate_windows (subject, count, closes_at)
      select subject, 1, statement_timestamp() + make_interval(secs => seconds)
      from unnest($1::text[], $2::int[]) as asked(subject, seconds)
      order by subject collate "C"
      on conflict (subject) do update set count = 1, closes_at = excluded.closes_at`,
    values: [textArray([...rows.keys()]), int4Array([...rows.values()].map(({ seconds }) => seconds))],
  });
  return asked.map(() => undefined);
};

/** Takes what others have not locked. A window that opens again meanwhile is not deleted: its row is locked. */
const purge = async (pool: Pick<Pool, 'query'>, rowsMax: number): Promise<number> => {
  const { rowCount } = await pool.query({
    name: 'rate-windows-purge',
    text: `
      delete from rate_windows where subject in (
        select subject from rate_windows where closes_at <= clock_timestamp()
        order by closes_at limit $1 for update skip locked)`,
    values: [rowsMax],
  });
  return rowCount ?? 0;
};
