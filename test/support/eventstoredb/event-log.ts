/** One event of the log. Its commit and prepare positions are equal, as for every event appended over gRPC. */
export interface LogRecord {
  readonly position: bigint;
  readonly stream: string;
  readonly revision: bigint;
  readonly id: string;
  readonly type: string;
  readonly contentType: string;
  readonly data: Uint8Array;
  readonly metadata: Uint8Array;
  /** ms since 1970 */
  readonly createdAt: number;
}

export type ProposedEvent = Pick<LogRecord, 'id' | 'type' | 'contentType' | 'data' | 'metadata'>;

/** The revision of a tombstone, and the `$tb` of a soft-deleted stream: the largest signed 64-bit integer. */
export const DELETED = 0x7fff_ffff_ffff_ffffn;
export const NO_STREAM = -1n;

/** The content of the server's disk: every event in commit order. It outlives its service. */
export interface EventLog {
  readonly records: readonly LogRecord[];
  /** The position of the next record. */
  readonly end: bigint;
  /** Every event of a stream by revision, including truncated ones, without a tombstone. */
  eventsOf(stream: string): readonly LogRecord[];
  /** `NO_STREAM` if it never existed, `DELETED` if it has a tombstone. */
  lastRevision(stream: string): bigint;
  write(stream: string, events: readonly ProposedEvent[]): readonly LogRecord[];
  writeTombstone(stream: string, event: ProposedEvent): LogRecord;
  /** Adds records that another node has written, without a call of `onWritten`. */
  receive(records: readonly LogRecord[]): void;
  /**
   * The revision at which an id was appended to a stream since the server started. An id that was appended earlier
   * keeps its first place, in any stream: the server's cache of ids has one entry for each id.
   */
  recentRevision(stream: string, id: string): bigint | undefined;
  /** Calls back once when the log has more than `count` records. */
  whenBeyond(count: number, wake: () => void): void;
  /**
   * Called when a server starts on the log. The first one clears the cache of ids, as a restart does. Others are nodes
   * of the same cluster. @returns a function to call when the server stops
   */
  serve(): () => void;
  /** Keeps only the first `count` records, like a restored backup. @throws Error while it is served */
  truncate(count: number): void;
  /** A separate log with the same records. */
  copy(): EventLog;
}

/** As in a real log: records are bytes, so positions have gaps and depend on the content. */
const HEADER_BYTES = 89n;
const sizeOf = ({ stream, type, data, metadata }: LogRecord): bigint =>
  HEADER_BYTES + BigInt(Buffer.byteLength(stream) + Buffer.byteLength(type) + data.length + metadata.length);

const isMetastream = (stream: string): boolean => stream.startsWith('$$');

/** @param onWritten receives new records before their writer gets its answer */
export const createEventLog = (
  from: readonly LogRecord[] = [],
  onWritten: (records: readonly LogRecord[]) => void = () => undefined,
): EventLog => {
  let records: LogRecord[] = [];
  let streams = new Map<string, LogRecord[]>();
  let tombstoned = new Set<string>();
  let recent = new Map<string, { stream: string; revision: bigint }>();
  let waiting: (() => void)[] = [];
  let servers = 0;

  const end = (): bigint => {
    const last = records.at(-1);
    return last === undefined ? HEADER_BYTES : last.position + sizeOf(last);
  };
  const put = (record: LogRecord): LogRecord => {
    records.push(record);
    if (record.revision === DELETED) tombstoned.add(record.stream);
    else if (!streams.get(record.stream)?.push(record)) streams.set(record.stream, [record]);
    return record;
  };
  const load = (kept: readonly LogRecord[]): void => {
    records = [];
    streams = new Map();
    tombstoned = new Set();
    recent = new Map();
    kept.forEach(put);
  };
  const lastRevision = (stream: string): bigint => {
    if (tombstoned.has(stream)) return DELETED;
    if (isMetastream(stream) && tombstoned.has(stream.slice(2))) return DELETED;
    return streams.get(stream)?.at(-1)?.revision ?? NO_STREAM;
  };
  const write = (stream: string, event: ProposedEvent, revision: bigint): LogRecord => {
    if (!recent.has(event.id)) recent.set(event.id, { stream, revision });
    return put({ ...event, stream, revision, position: end(), createdAt: Date.now() });
  };
  const wake = (): void => {
    const woken = waiting;
    waiting = [];
    for (const grown of woken) grown();
  };

  load(from);
  return {
    get records() {
      return records;
    },
    get end() {
      return end();
    },
    eventsOf: (stream) => streams.get(stream) ?? [],
    lastRevision,
    write: (stream, events) => {
      const first = lastRevision(stream) + 1n;
      const written = events.map((event, index) => write(stream, event, first + BigInt(index)));
      onWritten(written);
      wake();
      return written;
    },
    writeTombstone: (stream, event) => {
      const written = write(stream, event, DELETED);
      onWritten([written]);
      wake();
      return written;
    },
    receive: (received) => {
      received.forEach(put);
      wake();
    },
    recentRevision: (stream, id) => {
      const known = recent.get(id);
      return known?.stream === stream ? known.revision : undefined;
    },
    whenBeyond: (count, grown) => {
      if (records.length > count) grown();
      else waiting.push(grown);
    },
    serve: () => {
      if (servers === 0) recent = new Map();
      servers += 1;
      return () => {
        servers -= 1;
      };
    },
    truncate: (count) => {
      if (servers > 0) throw new Error('The log is being served: close the service first.');
      load(records.slice(0, count));
    },
    copy: () => createEventLog(records),
  };
};
