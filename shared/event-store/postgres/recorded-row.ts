import { printPosition } from '../dense-position.ts';
import type { RecordedEvent } from '../event-store.ts';

/** A row of the log; all columns are text. */
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
  /** Index of the requested page, from 1. Present only if several pages were requested. */
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
