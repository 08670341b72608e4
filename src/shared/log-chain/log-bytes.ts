import type { CustomTypesConfig, Pool, QueryArrayConfig } from 'pg';
import { parsePosition, printPosition } from '../event-store/dense-position.ts';
import type { EventStore, Position } from '../event-store/event-store.ts';
import { canonicalJson } from '../idempotency/canonical-json.ts';
import { eventBytes } from './chain.ts';

/** An event of the log, and what the chain takes of it. */
export interface EventBytes {
  readonly position: Position;
  readonly bytes: string;
}

/** A log as the chain reads it. */
export interface LogBytes {
  /** How events become bytes. Part of the chain's identity. */
  readonly format: string;
  /** Where positions are dense: the one behind `position`. Undefined: only the log knows. */
  next(position: Position): Position | undefined;
  /** The next events behind a position, in order, 16 MiB of them at most, one aside; empty at the end of the log. */
  page(after: Position): Promise<readonly EventBytes[]>;
}

const PAGE = 5_000;
const PAGE_BYTES_MAX = 16 * 1024 * 1024;

/** As `eventBytes` makes of the same event; `data` and `metadata` are the texts that are stored, byte by byte. */
const bytesSql = `e.position || ' ' || e.revision || ' ' || e.id || ' '
  || (extract(epoch from e.recorded_at) * 1000000)::bigint || ' ' || octet_length(e.stream) || ' '
  || octet_length(e.type) || ' ' || octet_length(e.data) || ' ' || octet_length(e.metadata) || E'\\n'
  || e.stream || e.type || e.data || e.metadata`;

const asText = { getTypeParser: () => (text: string) => text } as CustomTypesConfig;

/**
 * The log in Postgres, column by column as it is stored: a byte that no reader of events would notice, in a time's
 * microseconds or between two members of JSON, is another event here.
 */
export const postgresLogBytes = (pool: Pool): LogBytes => ({
  format: 'postgres-1',
  next: (position) => printPosition(parsePosition(position) + 1),
  page: async (after) => {
    const query: QueryArrayConfig = {
      name: 'log-bytes',
      text: `select e.position, ${bytesSql}
             from (select p.*, sum(p.own) over (order by p.position rows unbounded preceding) as bytes
                   from (select *, octet_length(data) + octet_length(metadata) as own from events
                         where position > $1 order by position limit ${PAGE}) p) e
             where e.bytes - e.own < ${PAGE_BYTES_MAX} order by e.position`,
      values: [parsePosition(after)],
      rowMode: 'array',
      types: asText,
    };
    const { rows } = await pool.query<[position: string, bytes: string]>(query);
    return rows.map(([position, bytes]) => ({ position: printPosition(Number(position)), bytes }));
  },
});

/** Any other log, as its events are read: JSON in its canonical form, times in milliseconds. */
export const portLogBytes = (store: Pick<EventStore, 'readAll'>, format: string): LogBytes => ({
  format,
  next: () => undefined,
  page: async (after) =>
    (await store.readAll({ after, limit: 1_000 })).map((event) => ({
      position: event.position,
      bytes: eventBytes({
        ...event,
        recordedAtMicros: Date.parse(event.recordedAt) * 1_000,
        data: canonicalJson(event.data),
        metadata: canonicalJson(event.metadata),
      }),
    })),
});

/** Pages from a position on, the next one being read while the last is worked on. */
export async function* pagesOf(log: LogBytes, after: Position): AsyncGenerator<readonly EventBytes[]> {
  let reading = log.page(after);
  for (;;) {
    const page = await reading;
    const last = page.at(-1);
    if (last === undefined) return;
    reading = log.page(last.position);
    // Whoever ends early does not wait for it; whoever goes on gets its error.
    reading.catch(() => undefined);
    yield page;
  }
}
