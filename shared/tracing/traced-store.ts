import type { EventStore } from '../event-store/event-store.ts';
import { activeTraceparent, SpanKind, traced } from './tracing.ts';

/** Each append is a span, and its events carry it: other processes continue the trace. */
export const tracedStore = (store: EventStore): EventStore => ({
  ...store,
  append: (stream, events, expected, options) => {
    const [category = ''] = stream.split('-');
    const attributes = { 'exchange.stream.category': category, 'exchange.events': events.length };
    return traced(`append ${category}`, { kind: SpanKind.CLIENT, attributes }, () => {
      const traceparent = activeTraceparent();
      const carrying =
        traceparent === undefined
          ? events
          : events.map((event) => ({ ...event, metadata: { ...event.metadata, traceparent } }));
      return store.append(stream, carrying, expected, options);
    });
  },
});
