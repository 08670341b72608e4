import type { EventSource } from '../../domain/event-sources/event-source-resource.ts';
import { findResources, type ResourceReads, type ResourceTable } from '../resources/resource-reads.ts';

export const eventSourcesTable: ResourceTable = { readModel: 'event-sources', table: 'event_sources' };

/**
 * The account's event sources under a key, active ones before archived ones: the one of `sourceId`, if that is known;
 * else two at most, enough to see that the key alone does not say which. However many advertisers have the key, no more
 * is answered. Holds all that the account has written before.
 * @throws ReadModelBehindError when the read model has not reached that in time
 */
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
