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

/** A row of the log, and what is made of it when somebody asks. */
export class LazyEvent implements RecordedEvent {
  readonly stream: string;
  readonly type: string;
  readonly revision: number;
  readonly #row: Row;
  readonly #toIso: ToIso;
  #data: RecordedEvent['data'] | undefined;
  #metadata: RecordedEvent['metadata'] | undefined;

  constructor(row: Row, toIso: ToIso) {
    this.#row = row;
    this.#toIso = toIso;
    this.stream = row[1] as string;
    this.revision = Number(row[2]);
    this.type = row[4];
  }

  get id(): string {
    return this.#row[3];
  }

  get position(): RecordedEvent['position'] {
    return printPosition(Number(this.#row[0]));
  }

  get data(): RecordedEvent['data'] {
    return (this.#data ??= JSON.parse(this.#row[5]) as RecordedEvent['data']);
  }

  get metadata(): RecordedEvent['metadata'] {
    return (this.#metadata ??= JSON.parse(this.#row[6]) as RecordedEvent['metadata']);
  }

  get recordedAt(): string {
    return this.#toIso(this.#row[7]);
  }
}
