import type { RecordedEvent } from '../../shared/event-store/event-store.ts';
import { UnprojectableEventError } from './projection.ts';

export interface FoldResult<State> {
  readonly state: State;
  /** -1 before the first event. */
  readonly revision: number;
}

export const byStream = (events: readonly RecordedEvent[]): Map<string, RecordedEvent[]> => {
  const streams = new Map<string, RecordedEvent[]>();
  for (const event of events) {
    const sameStream = streams.get(event.stream);
    if (sameStream === undefined) streams.set(event.stream, [event]);
    else sameStream.push(event);
  }
  return streams;
};

/** Ignores known events, so redelivery is harmless. @throws UnprojectableEventError for a gap */
export const foldStream = <State>(
  before: FoldResult<State>,
  events: Iterable<RecordedEvent>,
  evolve: (state: State, event: RecordedEvent) => State,
): FoldResult<State> => {
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
