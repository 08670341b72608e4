import {
  eventSourceResource,
  type EventSource,
  type EventSourceResource,
} from '../../domain/event-sources/resource.ts';
import type { Page } from '../resources/list-page.ts';
import { listResources, type ResourceOwner } from '../resources/list-resources.ts';
import { healthOf } from './event-source-health.ts';
import { findResources, type ResourceReads, type ResourceTable } from '../resources/resource-reads.ts';

export const eventSourcesTable: ResourceTable = { readModel: 'event-sources', table: 'event_sources' };

/** Undefined if the advertiser does not exist. @throws ReadModelBehindError */
export const listEventSources = async (
  reads: ResourceReads,
  owner: ResourceOwner,
  page: Page,
): Promise<{ readonly eventSources: readonly EventSourceResource[]; readonly total: number } | undefined> => {
  const found = await listResources<EventSource>(reads, eventSourcesTable, owner, page);
  if (found === undefined) return undefined;
  const health = await healthOf(reads, owner.customerId, found.items);
  const eventSources = found.items.map((source) => eventSourceResource(source, health(source)));
  return { eventSources, total: found.total };
};

/** At most two, active ones first: enough to see that several advertisers use the key. */
export const findEventSources = (
  reads: ResourceReads,
  customerId: number,
  key: string,
  sourceId?: string,
): Promise<readonly EventSource[]> =>
  findResources(
    reads,
    eventSourcesTable,
    customerId,
    sourceId === undefined
      ? {
          name: 'by-key',
          sql: (parameter) => `r.key = ${parameter}`,
          value: key,
          enough: 2,
          areActiveFirst: true,
        }
      : { name: 'by-id', sql: (parameter) => `r.id = ${parameter}::uuid`, value: sourceId },
  );
