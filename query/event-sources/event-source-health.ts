import { notSeen, type EventSource, type EventSourceHealth } from '../../domain/event-sources/resource.ts';
import { isoTimestampSql } from '../../shared/postgres/build-statement.ts';
import { boundTo } from '../../shared/postgres/tenant-database.ts';
import {
  freshnessColumns,
  freshnessOfAllSql,
  type Freshness,
} from '../../shared/follow-log/written-position.ts';
import { consistentRead } from '../../shared/follow-log/consistent-read.ts';
import type { ResourceReads } from '../resources/resource-reads.ts';

interface HealthRow extends EventSourceHealth {
  readonly sourceId: string;
}

/**
 * Reads the account's own conversion events, also those with a notification (`recordPositions`) whose writer has not
 * recorded their position yet. @throws ReadModelBehindError
 */
export const healthOf = async (
  { database, progress }: ResourceReads,
  customerId: number,
  sources: readonly EventSource[],
): Promise<(source: EventSource) => EventSourceHealth> => {
  if (sources.length === 0) return () => notSeen;
  const { items } = await consistentRead<Freshness & { readonly items: string }>({
    pool: boundTo(database, customerId),
    projection: 'conversions',
    progress,
    query: {
      name: 'event-source-health',
      text: `select ${freshnessColumns('f')}, coalesce(found.items, '[]') as items
             from ${freshnessOfAllSql('$1', ['$2'], 'conversion_positions')} f, lateral (
               select json_agg(json_build_object(
                 'sourceId', h.source_id,
                 'status', h.status,
                 'lastEventAt', ${isoTimestampSql('h.last_event_at')},
                 'lastEventReceivedAt', ${isoTimestampSql('h.last_event_received_at')},
                 'lastEventType', h.last_event_type,
                 'lastError', h.last_error,
                 'lastErrorAt', ${isoTimestampSql('h.last_error_at')}))::text as items
               from conversion_health h
               where h.customer_id = $1 and h.source_id = any(string_to_array($3, ',')::uuid[])
             ) found`,
      values: [customerId, 'conversions', sources.map(({ sourceId }) => sourceId).join(',')],
    },
  });
  const known = new Map(
    (JSON.parse(items) as readonly HealthRow[]).map(({ sourceId, ...health }) => [sourceId, health]),
  );
  return ({ sourceId }) => known.get(sourceId) ?? notSeen;
};
