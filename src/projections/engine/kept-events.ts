import type { JsonObject, RecordedEvent } from '../../shared/event-store/event-store.ts';
import type { ProjectedEvent } from './projection.ts';

/** A stream of which there are events. */
export interface KeptStream {
  readonly stream: string;
  /** Revision of its first event that is kept. */
  readonly revision: number;
  /** Where its first and its last event are. */
  readonly first: number;
  readonly last: number;
}

export interface KeptEvents {
  readonly streams: ReadonlyMap<string, KeptStream>;
  /** What they take of memory, about. */
  readonly bytes: number;
  /** In the order of the log, each once. */
  add(events: readonly RecordedEvent[]): void;
  /** Those of a stream, in order; read anew each time. */
  eventsOf(stream: KeptStream): Iterable<ProjectedEvent>;
}

/** Of a stream: its name, its part of the map, and what it is found by. */
const STREAM_BYTES = 250;
const PAGE_BYTES = 2 ** 20;
/** A place: its page times this, and where it is in it. */
const TWO_TO_32 = 2 ** 32;
const NONE = -1;

/**
 * An event begins with these, one behind the other; then when it occurred, and its data as JSON. Each takes whatever an
 * event of the log may have there: one that nothing can be made of is for whoever folds it to say, who parks its stream.
 */
const [NEXT, REVISION, SCHEMA_VERSION, DATA_BYTES, TYPE, TIME_BYTES, TEXT] = [0, 8, 16, 24, 28, 32, 36];

/** Bytes of events, in pages; a place says the page and where it is in it. */
class KeptBytes {
  /** Of all that is kept, what is left free behind it included. */
  bytes = 0;
  readonly #pages: Buffer[] = [];
  readonly #types: string[] = [];
  readonly #numbers = new Map<string, number>();
  #page = Buffer.alloc(0);
  #at = 0;

  /** @returns where it is */
  keep(event: RecordedEvent): number {
    const { type, revision, metadata, dataUtf8 } = event;
    const { occurredAt, schemaVersion } = metadata;
    // Where there are bytes, data would be read for nothing.
    const json = dataUtf8 ?? Buffer.from(JSON.stringify(event.data));
    const timeBytes = Buffer.byteLength(occurredAt);
    const size = TEXT + timeBytes + json.length;
    if (this.#at + size > this.#page.length) this.#next(size);
    const [page, start] = [this.#page, this.#at];
    page.writeDoubleLE(NONE, start + NEXT);
    page.writeDoubleLE(revision, start + REVISION);
    page.writeDoubleLE(schemaVersion, start + SCHEMA_VERSION);
    page.writeUInt32LE(json.length, start + DATA_BYTES);
    page.writeUInt32LE(this.#typeNumber(type), start + TYPE);
    page.writeUInt32LE(timeBytes, start + TIME_BYTES);
    page.write(occurredAt, start + TEXT);
    page.set(json, start + TEXT + timeBytes);
    this.#at += size;
    this.bytes += size;
    return (this.#pages.length - 1) * TWO_TO_32 + start;
  }

  /** @param next is behind it in its stream */
  link(place: number, next: number): void {
    this.#pageOf(place).writeDoubleLE(next, (place % TWO_TO_32) + NEXT);
  }

  /** @returns `NONE` behind the last one of a stream */
  next(place: number): number {
    return this.#pageOf(place).readDoubleLE((place % TWO_TO_32) + NEXT);
  }

  read(stream: string, place: number): ProjectedEvent {
    const page = this.#pageOf(place);
    const start = place % TWO_TO_32;
    const textAt = start + TEXT;
    const dataAt = textAt + page.readUInt32LE(start + TIME_BYTES);
    const json = page.toString('utf8', dataAt, dataAt + page.readUInt32LE(start + DATA_BYTES));
    return {
      type: this.#types[page.readUInt32LE(start + TYPE)] as string,
      stream,
      revision: page.readDoubleLE(start + REVISION),
      data: JSON.parse(json) as JsonObject,
      metadata: {
        occurredAt: page.toString('utf8', textAt, dataAt),
        schemaVersion: page.readDoubleLE(start + SCHEMA_VERSION),
      },
    };
  }

  #pageOf(place: number): Buffer {
    return this.#pages[Math.floor(place / TWO_TO_32)] as Buffer;
  }

  #typeNumber(type: string): number {
    const known = this.#numbers.get(type);
    if (known !== undefined) return known;
    const number = this.#types.push(type) - 1;
    this.#numbers.set(type, number);
    return number;
  }

  #next(bytes: number): void {
    this.bytes += this.#page.length - this.#at;
    this.#page = Buffer.allocUnsafeSlow(Math.max(PAGE_BYTES, bytes));
    this.#pages.push(this.#page);
    this.#at = 0;
  }
}

/**
 * What of events becomes rows, as bytes: the garbage collector has nothing to do with them. (Measured with folded
 * advertisers instead, some thirty objects each: half of a rebuild's processor time was its.)
 */
export const createKeptEvents = (): KeptEvents => {
  const streams = new Map<string, KeptStream & { last: number }>();
  const kept = new KeptBytes();
  return {
    streams,
    get bytes() {
      return kept.bytes + STREAM_BYTES * streams.size;
    },
    add: (events) => {
      for (const event of events) {
        const place = kept.keep(event);
        const { stream, revision } = event;
        const known = streams.get(stream);
        if (known === undefined) {
          streams.set(stream, { stream, revision, first: place, last: place });
        } else {
          kept.link(known.last, place);
          known.last = place;
        }
      }
    },
    *eventsOf({ stream, first }) {
      for (let place = first; place !== NONE; place = kept.next(place)) yield kept.read(stream, place);
    },
  };
};
