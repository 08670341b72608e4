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

export const eventOf = ([
  position,
  stream,
  revision,
  id,
  type,
  data,
  metadata,
  recordedAt,
]: Row): RecordedEvent => ({
  id,
  type,
  data: JSON.parse(data),
  metadata: JSON.parse(metadata),
  stream: stream as string,
  revision: Number(revision),
  position: printPosition(Number(position)),
  recordedAt: isoOf(recordedAt),
});

/** @param timestamp e.g. `2026-11-28 09:30:00.123456+00`: the connection's settings give this form */
const isoOf = (timestamp: string): string => {
  const milliseconds = timestamp.slice(20, -3).slice(0, 3).padEnd(3, '0');
  return `${timestamp.slice(0, 10)}T${timestamp.slice(11, 19)}.${milliseconds}Z`;
};
