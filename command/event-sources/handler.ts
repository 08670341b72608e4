import { eventSourceAggregate } from '../../domain/event-sources/event-source.ts';
import { handlerFor } from '../../shared/aggregate/handler-for.ts';

export const { execute: executeOnEventSource, loadWithRevision: loadEventSource } =
  handlerFor(eventSourceAggregate);
