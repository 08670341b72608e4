import type { JsonObject, RecordedEvent } from '../../shared/event-store/event-store.ts';
import type { ProjectedEvent } from './projection.ts';

/** A stream's events, in order, as far as they are kept. */
export interface KeptStream {
  readonly stream: string;
  readonly first: KeptEvent;
}

/**
 * What of an event becomes rows, in little room: data as text, which the garbage collector has no more to do with than
 * to pass by. (Measured with folded advertisers instead, some thirty objects each: half of a rebuild's processor time was
 * its.)
 */
export class KeptEvent implements ProjectedEvent {
  readonly type: string;
  readonly stream: string;
  readonly revision: number;
  /** Of the same stream. */
  next: KeptEvent | undefined;
  readonly #occurredAt: string;
  readonly #schemaVersion: number;
  readonly #json: string;

  /** @param type and stream: as they are kept already */
  constructor(event: RecordedEvent, type: string, stream: string) {
    const { occurredAt, schemaVersion } = event.metadata;
    this.type = type;
    this.stream = stream;
    this.revision = event.revision;
    this.#occurredAt = occurredAt;
    this.#schemaVersion = schemaVersion;
    this.#json = event.dataJson ?? JSON.stringify(event.data);
  }

  /** Of what is kept besides, in characters. */
  get dataLength(): number {
    return this.#json.length;
  }

  /** Read anew each time. */
  get data(): JsonObject {
    return JSON.parse(this.#json) as JsonObject;
  }

  get metadata(): ProjectedEvent['metadata'] {
    return { occurredAt: this.#occurredAt, schemaVersion: this.#schemaVersion };
  }
}

export interface KeptEvents {
  readonly streams: ReadonlyMap<string, KeptStream>;
  /** What they take of memory, about. */
  readonly bytes: number;
  /** In the order of the log, each once. */
  add(events: readonly RecordedEvent[]): void;
}

/** Of an event without its data, its part of the list and of the map. */
const BYTES_EACH = 250;

export const createKeptEvents = (): KeptEvents => {
  const streams = new Map<string, KeptStream & { last: KeptEvent }>();
  const types = new Map<string, string>();
  const typeOf = ({ type }: RecordedEvent): string => {
    const known = types.get(type);
    if (known === undefined) types.set(type, type);
    return known ?? type;
  };
  let bytes = 0;
  return {
    streams,
    get bytes() {
      return bytes;
    },
    add: (events) => {
      for (const event of events) {
        const known = streams.get(event.stream);
        const kept = new KeptEvent(event, typeOf(event), known?.stream ?? event.stream);
        bytes += BYTES_EACH + kept.dataLength;
        if (known === undefined) {
          streams.set(kept.stream, { stream: kept.stream, first: kept, last: kept });
        } else {
          known.last = known.last.next = kept;
        }
      }
    },
  };
};
