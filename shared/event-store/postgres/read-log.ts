import { setImmediate } from 'node:timers/promises';
import { type CustomTypesConfig, type Pool, type QueryArrayConfig } from 'pg';
import { coalesce } from '../../async/coalesce.ts';
import { boolArray, int4Array, int8Array, textArray } from '../../postgres/binary-array.ts';
import {
  EventStoreUnavailableError,
  isWanted,
  type ReadStreamOptions,
  type RecordedEvent,
} from '../event-store.ts';
import type { DenseLog } from '../dense-log.ts';
import { eventOf, type Row } from './recorded-row.ts';

export interface LogReader {
  head(): Promise<number>;
  readPage: DenseLog['readPage'];
  readStream(stream: string, options?: ReadStreamOptions): AsyncIterable<RecordedEvent>;
}

const STREAM_PAGE = 500;
/** Plus one event: bounds memory for any event count. */
const PAGE_BYTES_MAX = 16 * 1024 * 1024;

/** Streams that one statement reads, and the bytes for each, plus one event. */
const TOGETHER_MAX = 16;
const TOGETHER_BYTES_MAX = PAGE_BYTES_MAX / TOGETHER_MAX;
const TOGETHER_IN_FLIGHT_MAX = 4;

interface PageOfStream {
  readonly stream: string;
  readonly from: number;
  readonly backward: boolean;
  readonly count: number;
}

interface StreamPage {
  readonly rows: readonly Row[];
  readonly isLast: boolean;
}

/** The default parsers would create values that are not used. */
const asText = { getTypeParser: () => (text: string) => text } as CustomTypesConfig;

const READ_STREAMS = `select s.*, w.page
  from unnest($1::text[], $2::bigint[], $3::boolean[], $4::int[])
      with ordinality as w (stream, start, backward, count, page),
    lateral read_stream(w.stream, w.start, w.backward, w.count, $5) s
  order by w.page, case when w.backward then -s.revision else s.revision end`;

type Query = (name: string, text: string, values: readonly unknown[]) => Promise<Row[]>;

const queryOf =
  (pool: Pool): Query =>
  async (name, text, values) => {
    try {
      const config: QueryArrayConfig = { name, text, values: [...values], rowMode: 'array', types: asText };
      return (await pool.query<Row>(config)).rows;
    } catch (cause) {
      throw new EventStoreUnavailableError('the event log cannot be read', { cause });
    }
  };

const SLICE = 100;

/** Between two slices, other work continues, e.g. the statements that write the page before. */
const eventsInSlices = async (rows: readonly Row[]): Promise<readonly RecordedEvent[]> => {
  const events: RecordedEvent[] = [];
  for (const [at, row] of rows.entries()) {
    if (at > 0 && at % SLICE === 0) await setImmediate();
    events.push(eventOf(row));
  }
  return events;
};

const READ_LOG = 'select * from read_log($1, $2, $3, $4, $5) r';
/** Postgres searches the text, so that a large event without the member is not sent and parsed. */
const READ_LOG_HAVING = `${READ_LOG} where r.type is distinct from $6 or strpos(r.data, $7) > 0`;

const pageReader =
  (query: Query): DenseLog['readPage'] =>
  async (after, { limit, categories, types: ofTypes, having }) => {
    const values = [after, limit, PAGE_BYTES_MAX, categories ?? null, ofTypes ?? null];
    const rows = await (having === undefined
      ? query('read_log', READ_LOG, values)
      : query('read_log_having', READ_LOG_HAVING, [...values, having.type, `"${having.member}":`]));
    // The last row describes the page.
    const [last, , considered, , , , , , ofPayload] = rows.pop() as Row;
    const [count, bytes] = [Number(considered), Number(ofPayload)];
    return {
      // The text may also be that of a member inside another one.
      events: (await eventsInSlices(rows)).filter((event) => isWanted({ having }, event)),
      count,
      last: Number(last ?? 0),
      bytes,
      atEnd: count < limit && bytes < PAGE_BYTES_MAX,
    };
  };

const isLast = (rows: readonly Row[], { count }: PageOfStream, bytesMax: number): boolean =>
  rows.length < count && Number(rows.at(-1)?.[8] ?? 0) < bytesMax;

const readAlone =
  (query: Query) =>
  async (page: PageOfStream): Promise<StreamPage> => {
    const { stream, from, backward, count } = page;
    const values = [stream, from, backward, count, PAGE_BYTES_MAX];
    const rows = await query('read_stream', 'select * from read_stream($1, $2, $3, $4, $5)', values);
    return { rows, isLast: isLast(rows, page, PAGE_BYTES_MAX) };
  };

const readPages =
  (query: Query) =>
  async (pages: readonly PageOfStream[]): Promise<readonly StreamPage[]> => {
    const rows = await query('read_streams', READ_STREAMS, [
      textArray(pages.map(({ stream }) => stream)),
      int8Array(pages.map(({ from }) => from)),
      boolArray(pages.map(({ backward }) => backward)),
      int4Array(pages.map(({ count }) => count)),
      TOGETHER_BYTES_MAX,
    ]);
    const found = pages.map((): Row[] => []);
    for (const row of rows) found[Number(row[9]) - 1]?.push(row);
    return pages.map((page, n) => {
      const own = found[n] ?? [];
      return { rows: own, isLast: isLast(own, page, TOGETHER_BYTES_MAX) };
    });
  };

// Every command starts by reading its stream: first reads share one statement. If it fails, each stream is
// read alone.
const createReadFirst = (query: Query): ((page: PageOfStream) => Promise<StreamPage>) => {
  const alone = readAlone(query);
  const together = readPages(query);
  const read = coalesce<PageOfStream, () => Promise<StreamPage>>(
    async (pages) => {
      const found = pages.length > 1 ? await together(pages).catch(() => undefined) : undefined;
      return pages.map((page, n) => {
        const own = found?.[n];
        return own === undefined ? () => alone(page) : async () => own;
      });
    },
    { batchMax: TOGETHER_MAX, inFlightMax: TOGETHER_IN_FLIGHT_MAX },
  );
  return async (page) => (await read(page))();
};

/** Never writes, so a failed read is never an unknown outcome. @throws EventStoreUnavailableError */
export const createLogReader = (pool: Pool): LogReader => {
  const query = queryOf(pool);
  const readNext = readAlone(query);
  const readFirst = createReadFirst(query);

  async function* readStream(stream: string, options: ReadStreamOptions = {}): AsyncGenerator<RecordedEvent> {
    const backward = options.direction === 'backward';
    let from = options.from ?? (backward ? Number.MAX_SAFE_INTEGER : 0);
    let left = options.limit ?? Infinity;
    for (let read = readFirst; left > 0 && from >= 0; read = readNext) {
      const page = await read({ stream, from, backward, count: Math.min(left, STREAM_PAGE) });
      for (const row of page.rows) yield eventOf(row);
      const last = page.rows.at(-1);
      if (last === undefined || page.isLast) return;
      left -= page.rows.length;
      from = Number(last[2]) + (backward ? -1 : 1);
    }
  }

  return {
    readPage: pageReader(query),
    readStream,
    head: async () => {
      const rows = await query('log_head', 'select coalesce(max(position), 0) from events', []);
      return Number(rows[0]?.[0]);
    },
  };
};
