import { eventSourceEvents, type EventSourceEvent } from '../domain/event-sources/event-source-events.ts';
import {
  EVENT_SOURCE,
  evolve,
  initialState,
  type EventSourceState,
} from '../domain/event-sources/event-source.ts';
import { keyedResources } from './keyed-resources.ts';

export const eventSourcesProjection = keyedResources<EventSourceState, EventSourceEvent>({
  name: 'event-sources',
  table: 'event_sources',
  category: EVENT_SOURCE,
  events: eventSourceEvents,
  initialState,
  evolve,
  identify: (state) => (state.status === 'NONE' ? undefined : { ...state, id: state.sourceId }),
});
