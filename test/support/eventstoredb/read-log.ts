import { DELETED, NO_STREAM, type EventLog, type LogRecord } from './event-log.ts';
import { metadataOf } from './stream-metadata.ts';

export type StreamState = 'missing' | 'deleted' | 'there';

export const stateOf = (log: EventLog, stream: string): StreamState => {
  const last = log.lastRevision(stream);
  if (last === DELETED) return 'deleted';
  return last === NO_STREAM || metadataOf(log, stream).truncateBefore === DELETED ? 'missing' : 'there';
};

/** The events of a stream that its metadata does not hide, by revision. */
export const visibleEvents = (log: EventLog, stream: string): readonly LogRecord[] => {
  const { truncateBefore, maxCount, maxAgeMs } = metadataOf(log, stream);
  const byCount = maxCount === undefined ? 0n : log.lastRevision(stream) + 1n - maxCount;
  const oldest = maxAgeMs === undefined ? 0 : Date.now() - maxAgeMs;
  return log
    .eventsOf(stream)
    .filter(
      ({ revision, createdAt }) => revision >= truncateBefore && revision >= byCount && createdAt >= oldest,
    );
};

/** The number of records before a position. */
export const indexOf = (log: EventLog, position: bigint): number => {
  let low = 0;
  let high = log.records.length;
  while (low < high) {
    const middle = (low + high) >>> 1;
    if ((log.records[middle]?.position ?? position) < position) low = middle + 1;
    else high = middle;
  }
  return low;
};

/** Whether a record begins there. A position beyond the end may belong to a future record. */
export const isBoundary = (log: EventLog, position: bigint): boolean =>
  position === 0n || position >= log.end || log.records[indexOf(log, position)]?.position === position;
