import { types, type CustomTypesConfig, type Pool, type QueryArrayConfig } from 'pg';
import { EventStoreUnavailableError, type ReadStreamOptions, type RecordedEvent } from '../event-store.ts';
import type { LogPage } from '../follow-log.ts';
import { eventOf, LazyEvent, type Row } from './recorded-row.ts';

export interface LogReader {
  head(): Promise<number>;
  /** @throws EventStoreUnavailableError */
  readPage(after: number, limit: number, categories?: readonly string[]): Promise<LogPage>;
  /** The same, of events that are read when they are looked at. @throws EventStoreUnavailableError */
  readLazily(after: number, limit: number, categories?: readonly string[]): Promise<LogPage>;
  /** @throws EventStoreUnavailableError */
  readStream(stream: string, options?: ReadStreamOptions): AsyncIterable<RecordedEvent>;
}

const STREAM_PAGE = 500;
/** Payload of one page at most, plus one event: with pages of any count, memory is bounded. */
const PAGE_BYTES_MAX = 16 * 1024 * 1024;

/** Columns come as text: what a generic parser would make of them is thrown away again. */
const asText = { getTypeParser: () => (text: string) => text } as CustomTypesConfig;

const parseTimestamp = types.getTypeParser(types.builtins.TIMESTAMPTZ, 'text') as (text: string) => Date;

/** All events of one batch of appends carry the same time, so most conversions repeat the last one. */
const createIsoConverter = (): ((timestamp: string) => string) => {
  let last = '';
  let iso = '';
  return (timestamp) => {
    if (timestamp !== last) {
      iso = parseTimestamp(timestamp).toISOString();
      last = timestamp;
    }
    return iso;
  };
};

/** Reads through `pool`; nothing here ever writes, so a failure is never an unknown outcome. */
export const createLogReader = (pool: Pool): LogReader => {
  const query = async (name: string, text: string, values: readonly unknown[]): Promise<Row[]> => {
    try {
      const config: QueryArrayConfig = { name, text, values: [...values], rowMode: 'array', types: asText };
      return (await pool.query<Row>(config)).rows;
    } catch (cause) {
      throw new EventStoreUnavailableError('the event log cannot be read', { cause });
    }
  };
  const toIso = createIsoConverter();

  const toEvent = (row: Row): RecordedEvent => eventOf(row, toIso);

  const readPageOf = async (
    made: (row: Row) => RecordedEvent,
    after: number,
    limit: number,
    categories?: readonly string[],
  ): Promise<LogPage> => {
    const values = [after, limit, PAGE_BYTES_MAX, categories ?? null];
    const rows = await query('read_log', 'select * from read_log($1, $2, $3, $4)', values);
    const [first, last] = [rows[0], rows.at(-1)];
    return {
      events: rows.filter((row) => row[1] !== null).map(made),
      count: rows.length,
      first: Number(first?.[0] ?? 0),
      last: Number(last?.[0] ?? 0),
      atEnd: rows.length < limit && Number(last?.[8] ?? 0) < PAGE_BYTES_MAX,
    };
  };

  async function* readStream(stream: string, options: ReadStreamOptions = {}): AsyncGenerator<RecordedEvent> {
    const backward = options.direction === 'backward';
    let from = options.from ?? (backward ? Number.MAX_SAFE_INTEGER : 0);
    let left = options.limit ?? Infinity;
    while (left > 0 && from >= 0) {
      const count = Math.min(left, STREAM_PAGE);
      const values = [stream, from, backward, count, PAGE_BYTES_MAX];
      const rows = await query('read_stream', 'select * from read_stream($1, $2, $3, $4, $5)', values);
      for (const row of rows) yield toEvent(row);
      const last = rows.at(-1);
      if (last === undefined || (rows.length < count && Number(last[8]) < PAGE_BYTES_MAX)) return;
      left -= rows.length;
      from = Number(last[2]) + (backward ? -1 : 1);
    }
  }

  return {
    readPage: (...page) => readPageOf(toEvent, ...page),
    readLazily: (...page) => readPageOf((row) => new LazyEvent(row, toIso), ...page),
    readStream,
    head: async () => {
      const rows = await query('log_head', 'select coalesce(max(position), 0) from events', []);
      return Number(rows[0]?.[0]);
    },
  };
};
