import type { EventSource } from '../../domain/event-sources/event-source-resource.ts';
import { findResources, type ResourceReads, type ResourceTable } from '../resources/resource-reads.ts';

export const eventSourcesTable: ResourceTable = { readModel: 'event-sources', table: 'event_sources' };

/**
 * An account's event sources with a key, active ones first. With `sourceId`: only that one. Otherwise at most two,
 * which is enough to detect that the key is ambiguous: any number of advertisers may use it.
 * @throws ReadModelBehindError if the read model has not applied the account's writes in time
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
