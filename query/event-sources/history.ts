import { z } from 'zod';
import { conversionStream } from '../../domain/conversions/events.ts';
import { eventSourceResource, notSeen } from '../../domain/event-sources/resource.ts';
import { EVENT_SOURCE, eventSourceFold, eventSourceStream } from '../../domain/event-sources/event-source.ts';
import { eventSourcesTable, findEventSources } from './list.ts';
import { eventSourceList, eventSourceRead, theOneEventSource } from './routes.ts';
import { auditedKind, type AuditedKind } from '../resources/audited-kind.ts';
import { refuseIfBehind } from '../resources/refuse-if-behind.ts';
import type { ResourceReads } from '../resources/resource-reads.ts';
import { boundedText } from '../../domain/values.ts';
import { pathIntegerId } from '../../shared/http/schemas.ts';
import { resourceIdOf } from '../../shared/aggregate/ids.ts';
import { buyer, each, lastFirst, listedOfAdvertiser, streamsByKey } from '../resources/resource-paths.ts';

export const eventSourceKind = (reads: ResourceReads): AuditedKind =>
  auditedKind({
    ...eventSourceFold,
    resourceType: 'EVENT_SOURCE',
    noun: 'event source',
    live: (state) => (state.status === 'NONE' ? undefined : state),
    idOf: ({ key }) => key,
    streamsOf: streamsByKey(EVENT_SOURCE, eventSourceStream, conversionStream),
    keyedIn: eventSourcesTable,
    audited: (source) => {
      const { health: _, ...shown } = eventSourceResource(source, notSeen);
      return { ...shown, advertiserId: source.advertiserId, status: source.status };
    },
    nameOf: ({ name }) => name,
    place: {
      path: `${buyer}/event-sources/{key}`,
      params: z.object({ key: boundedText(1, 256).meta({ description: 'The event_source_id.' }) }),
      query: z.object({
        advertiserId: pathIntegerId('advertiser, if several have an event source with this id').optional(),
      }),
      tag: 'Event Sources',
      find: async (customerId, { key, advertiserId: owner }) => {
        if (owner !== undefined) {
          const id = resourceIdOf(EVENT_SOURCE, customerId, Number(owner), String(key));
          return { stream: eventSourceStream(customerId, id) };
        }
        const items = await findEventSources(reads, customerId, String(key)).catch(refuseIfBehind);
        const source = theOneEventSource(items) ?? (items.length === 1 ? items[0] : undefined);
        return source && { stream: eventSourceStream(customerId, source.sourceId) };
      },
    },
    details: [
      {
        route: eventSourceRead,
        // The stream of the source does not contain its health.
        shown: (source) => (source.status === 'ACTIVE' ? eventSourceResource(source, notSeen) : undefined),
      },
    ],
    lists: [
      {
        route: eventSourceList,
        owner: listedOfAdvertiser,
        shown: each((source) => eventSourceResource(source, notSeen)),
        keeps: ({ status }) => status === 'ACTIVE',
        order: lastFirst(
          ({ createdAt }) => createdAt,
          ({ sourceId }) => sourceId,
        ),
        data: ({ items, total }) => ({ eventSources: items, total }),
      },
    ],
  });
