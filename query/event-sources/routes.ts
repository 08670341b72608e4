import { z } from 'zod';
import {
  eventSourceResource,
  EventSourceResource,
  type EventSource,
} from '../../domain/event-sources/resource.ts';
import { EVENT_SOURCE, eventSourceFold } from '../../domain/event-sources/event-source.ts';
import { loadState } from '../../shared/aggregate/load-stream.ts';
import type { SnapshotStore } from '../../shared/aggregate/snapshots.ts';
import type { EventStore } from '../../shared/event-store/event-store.ts';
import { ApiError, notFound } from '../../shared/http/errors.ts';
import { declaration, route, type Route } from '../../shared/http/route.ts';
import { boundedText } from '../../domain/values.ts';
import { pagingParameters, pathIntegerId } from '../../shared/http/schemas.ts';
import { resourceIdOf } from '../../shared/aggregate/ids.ts';
import { ReadModelBehindError } from '../../shared/follow-log/consistent-read.ts';
import { refuseIfBehind } from '../resources/refuse-if-behind.ts';
import type { ResourceReads } from '../resources/resource-reads.ts';
import { listResourcesRoute } from '../resources/list-resources.ts';
import { healthOf } from './event-source-health.ts';
import { eventSummaryRoute, type EventSummaryReads } from './event-summary.ts';
import { receivedEventsRoute } from './received-events.ts';
import { findEventSources, listEventSources } from './list.ts';

interface EventSourceReads extends ResourceReads {
  readonly store: EventStore;
  readonly snapshots?: SnapshotStore;
}

export type EventSourceDetails = EventSourceReads & EventSummaryReads;

const tag = 'Event Sources';

export const eventSourceReadRoutes = (reads: EventSourceDetails): readonly Route[] => [
  listResourcesRoute(eventSourceList, EventSourceList, (owner, page) => listEventSources(reads, owner, page)),
  detailRoute(reads),
  eventSummaryRoute(reads),
  receivedEventsRoute(reads),
];

const EventSourceList = z
  .strictObject({ eventSources: z.array(EventSourceResource), total: z.int() })
  .meta({ id: 'EventSourceList' });

export const eventSourceList = declaration({
  method: 'get',
  path: '/api/v2/buyer/advertisers/{id}/event-sources',
  operationId: 'listEventSources',
  summary: "An advertiser's event sources, newest first",
  tag,
  access: 'exchange:read',
  params: z.object({ id: pathIntegerId('advertiser') }),
  query: z.object(pagingParameters(200)),
});

export const eventSourceRead = declaration({
  method: 'get',
  path: '/api/v2/buyer/event-sources/{key}',
  operationId: 'getEventSource',
  summary: 'One event source, by the id that the buyer gave it',
  tag,
  access: 'exchange:read',
  params: z.object({ key: boundedText(1, 256).meta({ description: 'The event_source_id.' }) }),
  query: z.object({
    advertiserId: pathIntegerId('advertiser, if several have an event source with this id').optional(),
  }),
});

const detailRoute = (reads: EventSourceReads): Route =>
  route({
    ...eventSourceRead,
    responses: { 200: { description: 'The event source', data: EventSourceResource } },
    handle: async ({ params: { key }, query: { advertiserId }, request }) => ({
      status: 200,
      data: await readEventSource(reads, request.principal.customerId, key, advertiserId),
    }),
  });

/** @throws ApiError NOT_FOUND, SERVICE_UNAVAILABLE; VALIDATION_ERROR if several have the key */
export const readEventSource = async (
  reads: EventSourceReads,
  customerId: number,
  key: string,
  advertiserId: number | undefined,
): Promise<EventSourceResource> => {
  const source = await findOne(reads, customerId, key, advertiserId);
  if (source?.status !== 'ACTIVE') throw notFound('event source');
  const health = await healthOf(reads, customerId, [source]).catch(refuseIfBehind);
  return eventSourceResource(source, health(source));
};

const findOne = async (
  reads: EventSourceReads,
  customerId: number,
  key: string,
  advertiserId: number | undefined,
): Promise<EventSource | undefined> => {
  const sourceId =
    advertiserId === undefined ? undefined : resourceIdOf(EVENT_SOURCE, customerId, advertiserId, key);
  try {
    const items = await findEventSources(reads, customerId, key, sourceId);
    return theOneEventSource(items);
  } catch (error) {
    if (sourceId === undefined || !(error instanceof ReadModelBehindError)) return refuseIfBehind(error);
    return loadState(reads, eventSourceFold, customerId, sourceId);
  }
};

/** @throws ApiError VALIDATION_ERROR if several are active */
export const theOneEventSource = (sources: readonly EventSource[]): EventSource | undefined => {
  const active = sources.filter(({ status }) => status === 'ACTIVE');
  if (active.length <= 1) return active[0];
  throw new ApiError({
    code: 'VALIDATION_ERROR',
    message: 'Several advertisers have an event source of this id. Say which with advertiserId.',
    field: 'advertiserId',
  });
};
