import { printPosition } from '../dense-position.ts';
import type { RecordedEvent } from '../event-store.ts';

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
  /** From 1, if several pages were requested. */
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
