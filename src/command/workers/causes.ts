import type { EventStore, RecordedEvent } from '../../shared/event-store/event-store.ts';

/** Which request it began with, what a worker does because of an event: so that all of it is found by that. */

type Log = Pick<EventStore, 'readStream'>;

/** Of what is looked for, the newest events of a stream are nearly always the first. */
const LOOKED_AT_MAX = 10;

async function* newest(store: Log, stream: string, limit: number): AsyncGenerator<RecordedEvent> {
  yield* store.readStream(stream, { direction: 'backward', limit });
}

/** The request that a stream's last event belongs to; undefined for a stream without one. */
export const lastCorrelation = async (store: Log, stream: string): Promise<string | undefined> => {
  for await (const { metadata } of newest(store, stream, 1)) return metadata.correlationId;
  return undefined;
};

/**
 * The request that an event belongs to, by its place in the log; undefined when it is none of the newest of these streams.
 */
export const correlationAt = async (
  store: Log,
  streams: readonly string[],
  position: string,
): Promise<string | undefined> => {
  for (const stream of streams) {
    for await (const event of newest(store, stream, LOOKED_AT_MAX)) {
      if (event.position === position) return event.metadata.correlationId;
      if (event.position < position) break;
    }
  }
  return undefined;
};
