import type { CopiedRows } from '../../postgres/copy-out.ts';
import { printPosition } from '../dense-position.ts';
import type { EventMetadata, Position, RecordedEvent } from '../event-store.ts';

/**
 * Columns of a copied row, in this order: position, stream, revision, id, type, data, metadata, when it was recorded, and
 * how many bytes the payloads up to it take. All but the first and the last are null where the row is passed over.
 */
const [STREAM, ID, RECORDED_AT, BYTES] = [1, 3, 7, 8];
const TWO_TO_32 = 2 ** 32;
/** 2000-01-01, from which Postgres counts. */
const POSTGRES_EPOCH_MS = 946_684_800_000;
const NULL = -1;

/**
 * A row of the log as it was copied, and what is made of it each time that somebody asks: kept, it would be moved about by
 * the garbage collector for as long as its batch lasts. It keeps its whole page in memory.
 */
export class CopiedEvent implements RecordedEvent {
  readonly stream: string;
  readonly revision: number;
  readonly type: string;
  readonly #page: Buffer;
  /** Where its columns begin: with the length of the first. */
  readonly #start: number;
  readonly #dataAt: number;

  constructor(page: Buffer, start: number) {
    this.#page = page;
    this.#start = start;
    let at = nextColumn(page, start);
    this.stream = textAt(page, at);
    at = nextColumn(page, at);
    this.revision = int8At(page, at);
    at = nextColumn(page, nextColumn(page, at));
    this.type = textAt(page, at);
    this.#dataAt = nextColumn(page, at);
  }

  get id(): string {
    const at = columnAt(this.#page, this.#start, ID);
    const hex = this.#page.toString('hex', at + 4, at + 20);
    return `${hex.slice(0, 8)}-${hex.slice(8, 12)}-${hex.slice(12, 16)}-${hex.slice(16, 20)}-${hex.slice(20)}`;
  }

  get position(): Position {
    return printPosition(int8At(this.#page, this.#start));
  }

  get dataUtf8(): Uint8Array {
    return this.#page.subarray(this.#dataAt + 4, nextColumn(this.#page, this.#dataAt));
  }

  get data(): RecordedEvent['data'] {
    return JSON.parse(textAt(this.#page, this.#dataAt)) as RecordedEvent['data'];
  }

  get metadata(): RecordedEvent['metadata'] {
    return new CopiedMetadata(this.#page, nextColumn(this.#page, this.#dataAt));
  }

  get recordedAt(): string {
    const micros = int8At(this.#page, columnAt(this.#page, this.#start, RECORDED_AT));
    return new Date(POSTGRES_EPOCH_MS + Math.floor(micros / 1_000)).toISOString();
  }
}

/** How metadata end that this program has written: what every read model asks for. */
const END = /"occurredAt":"([^"\\]*)","schemaVersion":(\d{1,9})\}$/;
/** More than that takes, with a time in milliseconds: the rest need not become text to look there. */
const END_BYTES = 80;

/** Metadata as JSON, of which no more is read than is asked for: to read all of them takes longer than to read most data. */
class CopiedMetadata implements EventMetadata {
  readonly occurredAt: string;
  readonly schemaVersion: number;
  readonly #page: Buffer;
  readonly #at: number;

  constructor(page: Buffer, at: number) {
    this.#page = page;
    this.#at = at;
    const start = at + 4;
    const end = start + page.readInt32BE(at);
    const [, occurredAt, schemaVersion] =
      END.exec(page.toString('utf8', Math.max(start, end - END_BYTES), end)) ?? [];
    this.occurredAt = occurredAt ?? this.#all.occurredAt;
    this.schemaVersion = schemaVersion === undefined ? this.#all.schemaVersion : Number(schemaVersion);
  }

  get #all(): EventMetadata {
    return JSON.parse(textAt(this.#page, this.#at)) as EventMetadata;
  }

  get customerId(): number {
    return this.#all.customerId;
  }

  get actor(): string {
    return this.#all.actor;
  }

  get requestId(): string {
    return this.#all.requestId;
  }

  get correlationId(): string {
    return this.#all.correlationId;
  }

  get causationId(): string {
    return this.#all.causationId;
  }
}

/** @returns the events of those rows that are not passed over */
export const eventsOf = ({ bytes, starts }: CopiedRows): readonly CopiedEvent[] => {
  const events: CopiedEvent[] = [];
  for (const start of starts) {
    if (bytes.readInt32BE(columnAt(bytes, start + 2, STREAM)) === NULL) continue;
    events.push(new CopiedEvent(bytes, start + 2));
  }
  return events;
};

export const positionAt = ({ bytes }: CopiedRows, start: number): number => int8At(bytes, start + 2);

/** Of the payloads up to that row. */
export const bytesAt = ({ bytes }: CopiedRows, start: number): number =>
  int8At(bytes, columnAt(bytes, start + 2, BYTES));

const nextColumn = (page: Buffer, at: number): number => at + 4 + Math.max(0, page.readInt32BE(at));

const columnAt = (page: Buffer, start: number, column: number): number => {
  let at = start;
  for (let before = 0; before < column; before += 1) at = nextColumn(page, at);
  return at;
};

const int8At = (page: Buffer, at: number): number =>
  page.readInt32BE(at + 4) * TWO_TO_32 + page.readUInt32BE(at + 8);

const textAt = (page: Buffer, at: number): string =>
  page.toString('utf8', at + 4, at + 4 + page.readInt32BE(at));
