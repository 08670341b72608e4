import type { RecordedEvent } from '../../shared/event-store/event-store.ts';
import { UnprojectableEventError } from './projection.ts';

/** A stream's state as a read model holds it. */
export interface Folded<State> {
  readonly state: State;
  /** Revision of the last event in it; -1 before the first. */
  readonly revision: number;
}

/** The events of each stream, in order. */
export const byStream = (events: readonly RecordedEvent[]): Map<string, RecordedEvent[]> => {
  const streams = new Map<string, RecordedEvent[]>();
  for (const event of events) {
    const sameStream = streams.get(event.stream);
    if (sameStream === undefined) streams.set(event.stream, [event]);
    else sameStream.push(event);
  }
  return streams;
};

/**
 * Folds the events of one stream onto what the read model holds of it. Events it holds already change
 * nothing, so a redelivery is harmless.
 * @throws UnprojectableEventError when an event is missing between the two: the stream's order is broken
 */
export const foldStream = <State>(
  before: Folded<State>,
  events: Iterable<RecordedEvent>,
  evolve: (state: State, event: RecordedEvent) => State,
): Folded<State> => {
  let { state, revision } = before;
  for (const event of events) {
    if (event.revision <= revision) continue;
    if (event.revision !== revision + 1) {
      throw new UnprojectableEventError(event, `revision ${revision + 1} is missing before it`);
    }
    state = evolve(state, event);
    revision = event.revision;
  }
  return { state, revision };
};
