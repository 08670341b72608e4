import type { OtherCauses } from '../../domain/history/other-causes.ts';
import type { EventStore, RecordedEvent } from '../../shared/event-store/event-store.ts';

/** Which requests what a worker does because of events began with: so that all of it is found by them. */

type Log = Pick<EventStore, 'readStream'>;

/** Of what is looked for, the newest events of a stream are nearly always the first. */
const LOOKED_AT_MAX = 50;
/** Requests beside the one that what is done belongs to. */
const OTHERS_MAX = 20;

async function* newest(store: Log, stream: string, limit: number): AsyncGenerator<RecordedEvent> {
  yield* store.readStream(stream, { direction: 'backward', limit });
}

/** The request that a stream's last event belongs to; undefined for a stream without one. */
export const lastCorrelation = async (store: Log, stream: string): Promise<string | undefined> => {
  for await (const { metadata } of newest(store, stream, 1)) return metadata.correlationId;
  return undefined;
};

/** Where in the log the newest event of a type is; undefined when it is none of the newest of the stream. */
export const lastPlaceOf = async (store: Log, stream: string, type: string): Promise<string | undefined> => {
  for await (const event of newest(store, stream, LOOKED_AT_MAX)) {
    if (event.type === type) return event.position;
  }
  return undefined;
};

/** The requests that what is done follows from. */
export interface CausesOfWork {
  /** That it belongs to; undefined when its event is none of the newest. */
  readonly correlationId: string | undefined;
  /** The newest of the others. */
  readonly alsoCausedBy: OtherCauses;
}

/** Which events of some streams something is done because of. */
export interface Occasions {
  readonly streams: readonly string[];
  /** Place in the log of the first that counts. */
  readonly since: string;
  /** Place of the one that what is done belongs to. Default: the newest one's. */
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
    for await (const event of newest(store, stream, LOOKED_AT_MAX)) {
      if (event.position < since) break;
      if (isOccasion(event)) found.push(event);
    }
  }
  found.sort((one, other) => (one.position < other.position ? 1 : -1));
  const main = named === undefined ? found[0] : found.find(({ position }) => position === named);
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
