import type { OtherCauses } from '../../domain/history/other-causes.ts';
import type { EventStore, RecordedEvent } from '../../shared/event-store/event-store.ts';

/** Which requests what a worker does because of events began with: so that all of it is found by them. */

type Log = Pick<EventStore, 'readStream'>;

/**
 * Events of a stream that are looked at. What is looked for is nearly always among the first page; events may be large, so
 * the others are read only behind that.
 */
const PAGES = [10, 40] as const;
/** Requests beside the one that what is done belongs to. */
const OTHERS_MAX = 20;

async function* newest(
  store: Log,
  stream: string,
  pages: readonly number[] = PAGES,
): AsyncGenerator<RecordedEvent> {
  let from: number | undefined;
  for (const limit of pages) {
    let read = 0;
    for await (const event of store.readStream(stream, {
      direction: 'backward',
      limit,
      ...(from !== undefined && { from }),
    })) {
      yield event;
      read += 1;
      from = event.revision - 1;
    }
    if (read < limit || from === -1) return;
  }
}

/** The request that a stream's last event belongs to; undefined for a stream without one. */
export const lastCorrelation = async (store: Log, stream: string): Promise<string | undefined> => {
  for await (const { metadata } of newest(store, stream, [1])) return metadata.correlationId;
  return undefined;
};

/** Where in the log the newest event of a type is; undefined when it is none of the newest of the stream. */
export const lastPlaceOf = async (store: Log, stream: string, type: string): Promise<string | undefined> => {
  for await (const event of newest(store, stream)) {
    if (event.type === type) return event.position;
  }
  return undefined;
};

/** The requests that what is done follows from. */
export interface CausesOfWork {
  /** That it belongs to; undefined when there is none among the newest events. */
  readonly correlationId: string | undefined;
  /** The newest of the others. */
  readonly alsoCausedBy: OtherCauses;
}

/** Which events of some streams something is done because of. */
export interface Occasions {
  readonly streams: readonly string[];
  /** Place in the log of the first that counts. */
  readonly since: string;
  /** Place of the one that what is done belongs to. Default, and where it is not found: the newest one's. */
  readonly named?: string;
  /** Default: every event. */
  readonly isOccasion?: (event: RecordedEvent) => boolean;
}

/** As the streams say now: whatever comes behind that has caused nothing that is decided on what was there before. */
export const causesSince = async (
  store: Log,
  { streams, since, named, isOccasion = () => true }: Occasions,
): Promise<CausesOfWork> => {
  const found: RecordedEvent[] = [];
  for (const stream of streams) {
    for await (const event of newest(store, stream)) {
      if (event.position < since) break;
      if (isOccasion(event)) found.push(event);
    }
  }
  found.sort((one, other) => (one.position < other.position ? 1 : -1));
  // Of none, while it names others, it would look like something that was asked for.
  const main = found.find(({ position }) => position === named) ?? found[0];
  const correlationId = main?.metadata.correlationId;
  const others = new Map<string, string>();
  for (const { metadata } of found) {
    if (metadata.correlationId === correlationId || others.has(metadata.correlationId)) continue;
    others.set(metadata.correlationId, metadata.causationId);
  }
  return {
    correlationId,
    alsoCausedBy: [...others]
      .slice(0, OTHERS_MAX)
      .map(([other, causationId]) => ({ correlationId: other, causationId })),
  };
};
