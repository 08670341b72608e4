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

/** An event of the log, and what the chain takes of it. */
export interface EventBytes {
  readonly position: Position;
  /** Undefined: what is stored is no event. */
  readonly bytes: string | undefined;
}

/** A log as the chain reads it. */
export interface LogBytes {
  /** How events become bytes. Part of the chain's identity. */
  readonly format: string;
  /** Where positions are dense: the one behind `position`. Undefined: only the log knows. */
  next(position: Position): Position | undefined;
  /** Whether it is one that an event of this log can have. */
  isPosition(position: Position): boolean;
  /** The position of the last event, `START` for an empty log. */
  head(): Promise<Position>;
  /**
   * The next events behind a position, in order, 16 MiB of them at most, one aside; empty at the end of the log.
   * @param limit events at most, 1 to `PAGE`
   */
  page(after: Position, limit: number): Promise<readonly EventBytes[]>;
}

const PAGE = 5_000;
const PAGE_BYTES_MAX = 16 * 1024 * 1024;

/** A time as whole microseconds since 1970; whatever is stored there makes some text. */
export function microsSql(column: string): string {
  return `trunc((extract(epoch from ${column}) * 1000000)::numeric)::text`;
}

/** As `eventBytes` makes of the same event; `data` and `metadata` are the texts that are stored, byte by byte. */
const bytesSql = `e.position || ' ' || e.revision || ' ' || e.id || ' '
  || ${microsSql('e.recorded_at')} || ' ' || octet_length(e.stream) || ' '
  || octet_length(e.type) || ' ' || octet_length(e.data) || ' ' || octet_length(e.metadata) || E'\\n'
  || e.stream || e.type || e.data || e.metadata`;

const dense: Pick<EventStore, 'distance'> = {
  distance: (from, to) => parsePosition(to) - parsePosition(from),
};

const asText = { getTypeParser: () => (text: string) => text } as CustomTypesConfig;

/**
 * The log in Postgres, column by column as it is stored: a byte that no reader of events would notice, in a time's
 * microseconds or between two members of JSON, is another event here.
 */
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

/** Any other log, as its events are read: JSON in its canonical form, times in milliseconds. */
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

/**
 * Reads once more where the store was away or took too long: hours of work must not end at one slow page.
 * @param read told how often it has failed
 * @throws its last error, some ten seconds later; any other error at once
 */
export const untilRead = async <T>(
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

/** Pages from a position on, the next one being read while the last is worked on; smaller ones where that takes long. */
export async function* pagesOf(log: LogBytes, after: Position): AsyncGenerator<readonly EventBytes[]> {
  const ending = new AbortController();
  const read = (behind: Position): Promise<readonly EventBytes[]> =>
    untilRead((failures) => log.page(behind, Math.max(1, PAGE >> (2 * failures))), ending.signal);
  let reading = read(after);
  try {
    for (;;) {
      const page = await reading;
      const last = page.at(-1);
      if (last === undefined) return;
      reading = read(last.position);
      // Whoever ends early does not wait for it; whoever goes on gets its error.
      reading.catch(() => undefined);
      yield page;
    }
  } finally {
    ending.abort();
  }
}
