import { eventSourceFold, type EventSourceState } from '../domain/event-sources/event-source.ts';
import type { EventSource } from '../domain/event-sources/resource.ts';
import { foldedReadModel } from './folded-read-model.ts';
import { syncedResourceColumns } from './synced-resource-columns.ts';

export const eventSourcesProjection = foldedReadModel<EventSourceState, EventSource>({
  ...eventSourceFold,
  name: 'event-sources',
  table: 'event_sources',
  live: (state) => (state.status === 'NONE' ? undefined : state),
  place: ({ customerId, sourceId }) => ({ customerId, id: sourceId }),
  columns: syncedResourceColumns,
});
