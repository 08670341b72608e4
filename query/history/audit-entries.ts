import type { AuditedResource } from '../../domain/history/audit-log-resource.ts';
import {
  isoTimestampSql,
  builtStatement,
  sql,
  statementName,
} from '../../shared/postgres/build-statement.ts';
import { boundTo } from '../../shared/postgres/tenant-database.ts';
import { freshnessColumns, freshnessSql, type Freshness } from '../../shared/follow-log/written-position.ts';
import { consistentRead } from '../../shared/follow-log/consistent-read.ts';
import type { ResourceReads } from '../resources/resource-reads.ts';
import { auditSearch, LISTED_MAX, type AuditFilters } from './audit-search.ts';

export interface EventRow {
  readonly kind: 'event';
  readonly id: string;
  readonly at: string;
  readonly position: string;
  readonly stream: string;
  readonly revision: number;
  readonly type: string;
  readonly resourceType: AuditedResource;
  readonly part: string | null;
  readonly advertiserId: number | null;
  readonly campaignIds: readonly string[] | null;
  readonly actor: string;
  readonly userId: string | null;
  readonly requestId: string;
  readonly correlationId: string;
  readonly causationId: string;
}

export interface CausedRow extends EventRow {
  /** The request's command, if the event only names this request as a further cause; else null. */
  readonly ledBy: string | null;
}

export interface AttemptRow {
  readonly kind: 'attempt';
  readonly id: string;
  readonly at: string;
  readonly operation: string;
  readonly resourceType: AuditedResource | null;
  readonly resourceId: string | null;
  readonly advertiserId: number | null;
  /** As the client wrote it. */
  readonly campaignId: string | null;
  readonly actor: string;
  readonly userId: string | null;
  readonly requestId: string;
  readonly status: number;
  readonly outcome: 'denied' | 'failed';
  readonly code: string;
  readonly field: string | null;
}

export type AuditRow = EventRow | AttemptRow;

export const eventColumns = `'kind', 'event', 'id', e.event_id, 'at', ${isoTimestampSql('e.occurred_at')}, 'position', e.position,
  'stream', e.stream,
  'revision', e.revision, 'type', e.type, 'resourceType', e.resource_type, 'part', e.part,
  'advertiserId', e.advertiser_id, 'campaignIds', e.campaign_ids, 'actor', e.actor, 'userId', e.user_id, 'requestId', e.request_id,
  'correlationId', e.correlation_id, 'causationId', e.causation_id`;

export const attemptColumns = `'kind', 'attempt', 'id', a.id, 'at', ${isoTimestampSql('a.occurred_at')},
  'operation', a.operation, 'resourceType', a.resource_type, 'resourceId', a.resource_id,
  'advertiserId', a.advertiser_id, 'campaignId', a.campaign_id, 'actor', a.actor, 'userId', a.user_id, 'requestId', a.request_id,
  'status', a.status, 'outcome', a.outcome, 'code', a.code, 'field', a.field`;

interface Row extends Freshness {
  readonly items: string;
  readonly total: number;
  readonly searched_from: string | null;
}

export interface AuditPage {
  readonly rows: readonly AuditRow[];
  readonly total: number;
  /** Older entries were not searched, or are not listed. Undefined: everything is covered. */
  readonly searchedFrom: string | undefined;
}

/** Reads a bounded number of rows for any length of the log (`auditSearch`). @throws ReadModelBehindError */
export const listAuditRows = async (
  { database, progress }: ResourceReads,
  customerId: number,
  filters: AuditFilters,
  { skip, take }: { readonly skip: number; readonly take: number },
): Promise<AuditPage> => {
  const { name, search, given } = auditSearch(customerId, filters, { skip, take });
  const { text, parameters } = builtStatement(
    sql.raw(
      `with :search
       select ${freshnessColumns('f')}, (select least(count(*), ${LISTED_MAX})::int from listed) as total,
         (select ${isoTimestampSql('at')} from (
            select greatest(s.at, l.at) as at from searched_from s, listed_from l) ends
          where at > :from::timestamptz) as searched_from,
         (select coalesce(json_agg(row order by occurred_at desc, is_event desc, tie desc), '[]')::text
          from (
            select p.*, json_build_object(${eventColumns}) as row
            from page p join audit_entries e on e.customer_id = :customerId and e.occurred_at = p.occurred_at
              and e.position = p.tie where p.is_event
            union all
            select p.*, json_build_object(${attemptColumns}) as row
            from page p join audit_attempts a on a.customer_id = :customerId and a.occurred_at = p.occurred_at
              and a.id::text = p.tie where not p.is_event
          ) rows) as items
       from ${freshnessSql(':customerId', `'audit'`)} f`,
      { search, customerId: 'customerId', from: 'from' },
    ),
  );
  const { items, total, searched_from } = await consistentRead<Row>({
    pool: boundTo(database, customerId),
    projection: 'audit',
    progress,
    query: {
      name: statementName('list-audit', name),
      text,
      values: parameters.map((parameter) => given[parameter]),
    },
  });
  return {
    rows: JSON.parse(items) as readonly AuditRow[],
    total,
    searchedFrom: searched_from ?? undefined,
  };
};
