import { boundTo } from '../../shared/postgres/tenant-database.ts';
import { freshnessColumns, freshnessSql, type Freshness } from '../../shared/follow-log/written-position.ts';
import { consistentRead } from '../../shared/follow-log/consistent-read.ts';
import type { ResourceReads } from '../resources/resource-reads.ts';
import { attemptColumns, eventColumns, type AttemptRow, type CausedRow } from './audit-entries.ts';
import type { CauseInLog } from '../resources/audited-kind.ts';

/** For one request id, which a client may reuse. */
export const REFUSED_MAX = 100;

export interface CausedPage {
  /** In the order of the log; one more than requested if a next page exists. */
  readonly events: readonly CausedRow[];
  /** On the first page only, oldest first; at most `REFUSED_MAX` + 1. */
  readonly refused: readonly AttemptRow[];
}

/** Compares by range, as `auditSearch` does. @throws ReadModelBehindError */
export const findCaused = async (
  { database, progress }: ResourceReads,
  customerId: number,
  requestId: string,
  { after, take }: { readonly after: string | undefined; readonly take: number },
): Promise<CausedPage> => {
  const { events, refused } = await consistentRead<
    Freshness & { readonly events: string; readonly refused: string }
  >({
    pool: boundTo(database, customerId),
    projection: 'audit',
    progress,
    query: {
      name: 'find-caused',
      text: `select ${freshnessColumns('f')}, (
               select coalesce(json_agg(row order by position), '[]')::text from (
                 (select e.position, json_build_object(${eventColumns}, 'ledBy', null) as row
                  from audit_entries e
                  where e.customer_id = $1 and e.correlation_id between $3 and $3 and e.position > coalesce($4, '')
                  order by e.correlation_id, e.position limit $5::bigint + 1)
                 union all
                 (select e.position, json_build_object(${eventColumns}, 'ledBy', c.causation_id) as row
                  from (select * from audit_causes
                        where customer_id = $1 and correlation_id between $3 and $3 and position > coalesce($4, '')
                        order by correlation_id, position limit $5::bigint + 1) c
                  join audit_entries e
                    on e.customer_id = $1 and e.occurred_at = c.occurred_at and e.position = c.position)
                 order by position limit $5::bigint + 1) caused) as events, (
               select coalesce(json_agg(row order by occurred_at, id), '[]')::text from (
                 select a.occurred_at, a.id, json_build_object(${attemptColumns}) as row
                 from audit_attempts a where a.customer_id = $1 and a.request_id between $3 and $3 and $4::text is null
                 order by a.request_id, a.occurred_at, a.id limit ${REFUSED_MAX + 1}) refused) as refused
             from ${freshnessSql('$1', '$2')} f`,
      values: [customerId, 'audit', requestId, after ?? null, take],
    },
  });
  return {
    events: JSON.parse(events) as readonly CausedRow[],
    refused: JSON.parse(refused) as readonly AttemptRow[],
  };
};

export interface EarlierEvent extends CauseInLog {
  /** False if the service did it because of another event. */
  readonly isRequested: boolean;
}

/** Events before a page: the request's first ones, and the last ones before the page. */
const EARLIER_MAX = { first: 100, last: 1_000 };

export const findEarlier = async (
  { database }: Pick<ResourceReads, 'database'>,
  customerId: number,
  requestId: string,
  before: string,
): Promise<readonly EarlierEvent[]> => {
  const these = `select e.position, e.stream, e.causation_id, e.request_id = e.correlation_id as is_requested
    from audit_entries e
    where e.customer_id = $1 and e.correlation_id between $2 and $2 and e.position < $3`;
  const rows = await database.query<{
    position: string;
    stream: string;
    causation_id: string;
    is_requested: boolean;
  }>(customerId, {
    name: 'find-caused-earlier',
    text: `select * from (
             (${these} order by e.correlation_id, e.position limit ${EARLIER_MAX.first})
             union
             (${these} order by e.correlation_id desc, e.position desc limit ${EARLIER_MAX.last})) earlier
           order by position`,
    values: [customerId, requestId, before],
  });
  return rows.map(({ position, stream, causation_id, is_requested }) => ({
    position,
    stream,
    causationId: causation_id,
    isRequested: is_requested,
  }));
};
