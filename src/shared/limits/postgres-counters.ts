import type { Pool } from 'pg';
import { coalesce } from '../coalesce.ts';
import { int4Array, textArray } from '../postgres/binary-array.ts';
import type { OpenWindow, WindowCounters } from './window-counters.ts';

interface Asked {
  readonly subject: string;
  readonly seconds: number;
}

interface WindowRow {
  readonly subject: string;
  readonly count: number;
  readonly ms_left: number;
}

export interface PostgresCounters extends WindowCounters {
  /** Deletes windows that have closed, at most `rowsMax`. @returns how many */
  purge(rowsMax: number): Promise<number>;
}

/** What arrives during a round trip goes along in the next: batches of one process never wait for each other's rows. */
const ROUND_TRIPS = { batchMax: 500, inFlightMax: 1 };

/**
 * Counters in the table `rate_windows`, by the database's clock. Own code, because the Postgres limiter of
 * `rate-limiter-flexible` makes one statement a request and goes by each process' own clock.
 */
export const createPostgresCounters = (pool: Pick<Pool, 'query'>): PostgresCounters => {
  const count = coalesce((asked: readonly Asked[]) => countAll(pool, asked), ROUND_TRIPS);
  const read = coalesce((subjects: readonly string[]) => readAll(pool, subjects), ROUND_TRIPS);
  const reopen = coalesce((asked: readonly Asked[]) => reopenAll(pool, asked), ROUND_TRIPS);
  return {
    count: (subject, seconds) => count({ subject, seconds }),
    read,
    reopen: (subject, seconds) => reopen({ subject, seconds }),
    purge: (rowsMax) => purge(pool, rowsMax),
  };
};

/** Every row once, with how often it was asked for: a statement cannot update the same row twice. */
const bySubject = (asked: readonly Asked[]): ReadonlyMap<string, { seconds: number; times: number }> => {
  const rows = new Map<string, { seconds: number; times: number }>();
  for (const { subject, seconds } of asked) {
    const row = rows.get(subject);
    if (row === undefined) rows.set(subject, { seconds, times: 1 });
    else row.times += 1;
  }
  return rows;
};

/**
 * Counts all in one atomic statement. The time is the statement's, the same in all its parts: a window cannot
 * be open in one of them and closed in another. Rows are locked in one order, so batches of several processes
 * cannot lock each other out. Those who asked for the same subject get its last numbers, one each.
 */
const countAll = async (
  pool: Pick<Pool, 'query'>,
  asked: readonly Asked[],
): Promise<readonly OpenWindow[]> => {
  const rows = bySubject(asked);
  const result = await pool.query<WindowRow>({
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
      textArray([...rows.keys()]),
      int4Array([...rows.values()].map(({ times }) => times)),
      int4Array([...rows.values()].map(({ seconds }) => seconds)),
    ],
  });
  const next = new Map(
    result.rows.map(({ subject, count, ms_left: msLeft }) => [
      subject,
      { count: count - (rows.get(subject)?.times ?? 0), msLeft },
    ]),
  );
  return asked.map(({ subject }) => {
    const window = next.get(subject);
    if (window === undefined) throw new Error('a subject was not counted');
    window.count += 1;
    return { ...window };
  });
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
  asked: readonly Asked[],
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
