import { conversionEvents, type ConversionsLogged } from '../../domain/conversions/events.ts';
import { currentData } from '../../shared/aggregate/event-versions.ts';
import type { RecordedEvent } from '../../shared/event-store/event-store.ts';

/** No schema validation: the data is large and read for every call. @throws UnknownEventVersionError */
export const loggedData = (event: RecordedEvent): ConversionsLogged =>
  currentData(event, conversionEvents.ConversionsLogged) as unknown as ConversionsLogged;
