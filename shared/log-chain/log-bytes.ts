import type { CustomTypesConfig, Pool, QueryArrayConfig } from 'pg';
import { backoffMs, sleep } from '../async/backoff.ts';
import { parsePosition, printPosition } from '../event-store/dense-position.ts';
import {
  EventStoreUnavailableError,
  type EventStore,
  type Position,
  isPosition,
} from '../event-store/event-store.ts';
import { canonicalJson } from '../json/canonical-json.ts';
import { isPostgresUnavailable } from '../postgres/postgres-unavailable.ts';
import { eventBytes } from './chain.ts';

export interface EventBytes {
  readonly position: Position;
  /** Undefined if the stored row is not a valid event. */
  readonly bytes: string | undefined;
}

export interface LogBytes {
  /** Part of the chain's identity. */
  readonly format: string;
  next(position: Position): Position | undefined;
  isPosition(position: Position): boolean;
  head(): Promise<Position>;
  /** At most 16 MiB, or one event. @param limit 1 to `PAGE` */
  page(after: Position, limit: number): Promise<readonly EventBytes[]>;
}

const PAGE = 5_000;
const PAGE_BYTES_MAX = 16 * 1024 * 1024;

/** A text for every value that the column can hold, whole microseconds since 1970. */
export function microsSql(column: string): string {
  return `trunc((extract(epoch from ${column}) * 1000000)::numeric)::text`;
}

/** Must give the same text as `eventBytes`, from the stored texts of `data` and `metadata`. */
const bytesSql = `e.position || ' ' || e.revision || ' ' || e.id || ' '
  || ${microsSql('e.recorded_at')} || ' ' || octet_length(e.stream) || ' '
  || octet_length(e.type) || ' ' || octet_length(e.data) || ' ' || octet_length(e.metadata) || E'\\n'
  || e.stream || e.type || e.data || e.metadata`;

const dense: Pick<EventStore, 'distance'> = {
  distance: (from, to) => parsePosition(to) - parsePosition(from),
};

const asText = { getTypeParser: () => (text: string) => text } as CustomTypesConfig;

/** Detects changes that no reader of events sees, e.g. in a time's microseconds or in white space of JSON. */
export const postgresLogBytes = (pool: Pool): LogBytes => ({
  format: 'postgres-1',
  next: (position) => printPosition(parsePosition(position) + 1),
  isPosition: (position) => isPosition(dense, position),
  head: async () => {
    const { rows } = await pool.query<{ head: string }>(
      'select coalesce(max(position), 0) as head from events',
    );
    return printPosition(Number(rows[0]?.head));
  },
  page: async (after, limit) => {
    const query: QueryArrayConfig = {
      name: 'log-bytes',
      text: `select e.position, ${bytesSql}
             from (select p.*, sum(p.own) over (order by p.position rows unbounded preceding) as bytes
                   from (select *, coalesce(octet_length(data) + octet_length(metadata), 0) as own from events
                         where position > $1 order by position limit $2) p) e
             where e.bytes - e.own < ${PAGE_BYTES_MAX} order by e.position`,
      values: [parsePosition(after), limit],
      rowMode: 'array',
      types: asText,
    };
    const { rows } = await pool.query<[position: string, bytes: string | null]>(query);
    return rows.map(([position, bytes]) => ({
      position: printPosition(Number(position)),
      bytes: bytes ?? undefined,
    }));
  },
});

export const portLogBytes = (
  store: Pick<EventStore, 'readAll' | 'head' | 'distance'>,
  format: string,
): LogBytes => ({
  format,
  next: () => undefined,
  isPosition: (position) => isPosition(store, position),
  head: () => store.head(),
  page: async (after, limit) =>
    (await store.readAll({ after, limit: Math.min(limit, 1_000) })).map((event) => ({
      position: event.position,
      bytes: eventBytes({
        ...event,
        recordedAtMicros: Date.parse(event.recordedAt) * 1_000,
        data: canonicalJson(event.data),
        metadata: canonicalJson(event.metadata),
      }),
    })),
});

const RETRY = { baseMs: 200, capMs: 3_000 };
const TRIES_MAX = 6;

/** One slow page must not end hours of verification. @throws the last error after 6 attempts, about 10 s */
export const readWithRetries = async <T>(
  read: (failures: number) => Promise<T>,
  signal?: AbortSignal,
): Promise<T> => {
  for (let failures = 0; ; failures += 1) {
    try {
      return await read(failures);
    } catch (error) {
      const isAway = isPostgresUnavailable(error) || error instanceof EventStoreUnavailableError;
      if (!isAway || failures + 1 === TRIES_MAX || signal?.aborted === true) throw error;
      await sleep(backoffMs(failures + 1, RETRY), signal);
    }
  }
};

export async function* pagesOf(log: LogBytes, after: Position): AsyncGenerator<readonly EventBytes[]> {
  const ending = new AbortController();
  const read = (behind: Position): Promise<readonly EventBytes[]> =>
    readWithRetries((failures) => log.page(behind, Math.max(1, PAGE >> (2 * failures))), ending.signal);
  let reading = read(after);
  try {
    for (;;) {
      const page = await reading;
      const last = page.at(-1);
      if (last === undefined) return;
      reading = read(last.position);
      // A consumer that stops early ignores this error; one that continues receives it at the next `await`.
      reading.catch(() => undefined);
      yield page;
    }
  } finally {
    ending.abort();
  }
}
