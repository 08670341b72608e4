import { printPosition } from '../dense-position.ts';
import type { RecordedEvent } from '../event-store.ts';

/** A row of the log, every column as text. */
export type Row = [
  position: string,
  stream: string | null,
  revision: string,
  id: string,
  type: string,
  data: string,
  metadata: string,
  recordedAt: string,
  bytes: string,
  /** Which of the pages that were asked for, from 1; only where there is more than one. */
  page?: string,
];

type ToIso = (timestamp: string) => string;

export const eventOf = (
  [position, stream, revision, id, type, data, metadata, recordedAt]: Row,
  toIso: ToIso,
): RecordedEvent => ({
  id,
  type,
  data: JSON.parse(data),
  metadata: JSON.parse(metadata),
  stream: stream as string,
  revision: Number(revision),
  position: printPosition(Number(position)),
  recordedAt: toIso(recordedAt),
});
