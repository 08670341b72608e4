import type { AuditedResource, AuditOutcome, ActorOrigin } from '../../domain/history/audit-log-resource.ts';
import { isoTimestampSql } from '../../shared/postgres/iso-timestamp-sql.ts';
import { boundTo } from '../../shared/postgres/tenant-database.ts';
import {
  freshnessColumns,
  freshnessSql,
  type Freshness,
} from '../../shared/read-your-writes/account-mark.ts';
import { consistentRead } from '../../shared/read-your-writes/consistent-read.ts';
import { textArray } from '../../shared/postgres/binary-array.ts';
import type { ResourceReads } from '../resources/resource-reads.ts';

/** An event, as the audit log finds it. */
export interface EventRow {
  readonly kind: 'event';
  readonly id: string;
  readonly at: string;
  readonly stream: string;
  /** From 0, as in the log. */
  readonly revision: number;
  readonly type: string;
  readonly resourceType: AuditedResource;
  readonly part: string | null;
  readonly advertiserId: number | null;
  readonly actor: string;
  readonly requestId: string;
  readonly correlationId: string;
  readonly causationId: string;
}

/** An attempt that was refused. */
export interface AttemptRow {
  readonly kind: 'attempt';
  readonly id: string;
  readonly at: string;
  readonly operation: string;
  readonly resourceType: AuditedResource | null;
  readonly resourceId: string | null;
  readonly advertiserId: number | null;
  readonly actor: string;
  readonly userId: string | null;
  readonly requestId: string;
  readonly status: number;
  readonly code: string;
  readonly field: string | null;
}

export type AuditRow = EventRow | AttemptRow;

export interface AuditFilters {
  /** ISO 8601; from the first, before the second. */
  readonly from: string;
  readonly before: string;
  readonly advertiserId?: number | undefined;
  /** UUID, and as it is shown. */
  readonly campaign?: { readonly id: string; readonly shown: string } | undefined;
  readonly resourceTypes?: readonly AuditedResource[] | undefined;
  /** Where events of the thing are, if that follows from its id; and its id as requests have it. */
  readonly resource?:
    | { readonly streams: readonly string[]; readonly parts: readonly string[]; readonly shown: string }
    | undefined;
  readonly actions?: readonly string[] | undefined;
  readonly actorOrigin?: ActorOrigin | undefined;
  readonly actors?: readonly string[] | undefined;
  readonly outcome?: AuditOutcome | undefined;
}

/** As far back as a list of entries goes: of more, the newest. What is older is found by naming its time. */
export const LISTED_MAX = 10_000;

const eventColumns = `'kind', 'event', 'id', e.event_id, 'at', ${isoTimestampSql('e.occurred_at')}, 'stream', e.stream,
  'revision', e.revision, 'type', e.type, 'resourceType', e.resource_type, 'part', e.part,
  'advertiserId', e.advertiser_id, 'actor', e.actor, 'requestId', e.request_id,
  'correlationId', e.correlation_id, 'causationId', e.causation_id`;

const attemptColumns = `'kind', 'attempt', 'id', a.id, 'at', ${isoTimestampSql('a.occurred_at')},
  'operation', a.operation, 'resourceType', a.resource_type, 'resourceId', a.resource_id,
  'advertiserId', a.advertiser_id, 'actor', a.actor, 'userId', a.user_id, 'requestId', a.request_id,
  'status', a.status, 'code', a.code, 'field', a.field`;

const ORIGINS: Readonly<Record<ActorOrigin, string>> = {
  API_KEY: 'api-key',
  UPLOAD: 'upload',
  WORKER: 'worker',
  OPERATOR: 'operator',
};

interface Variant {
  readonly name: string;
  readonly events: readonly string[];
  readonly attempts: readonly string[];
  readonly values: readonly unknown[];
}

/** The conditions that are asked for: one prepared statement for each set of them, so that each gets its index. */
const variantOf = (filters: AuditFilters, first: number): Variant => {
  const names: string[] = [];
  const events: string[] = [];
  const attempts: string[] = [];
  const values: unknown[] = [];
  const parameter = (value: unknown): string => `$${first - 1 + values.push(value)}`;
  const add = (name: string, ofEvents: string, ofAttempts: string): void => {
    names.push(name);
    events.push(ofEvents);
    attempts.push(ofAttempts);
  };
  const { advertiserId, campaign, resource, resourceTypes, actions, actors, actorOrigin, outcome } = filters;
  if (advertiserId !== undefined) {
    const id = parameter(advertiserId);
    add('advertiser', `e.advertiser_id = ${id}`, `a.advertiser_id = ${id}`);
  }
  if (campaign !== undefined) {
    const [id, shown] = [parameter(campaign.id), parameter(campaign.shown)];
    add('campaign', `e.campaign_id = ${id}`, `a.resource_type = 'CAMPAIGN' and a.resource_id = ${shown}`);
  }
  if (resource !== undefined) {
    const [streams, parts] = [parameter(textArray(resource.streams)), parameter(textArray(resource.parts))];
    add(
      'resource',
      `(e.stream = any(${streams}::text[]) or e.part = any(${parts}::text[]))`,
      `a.resource_id = ${parameter(resource.shown)}`,
    );
  }
  if (resourceTypes !== undefined) {
    const types = `any(${parameter(textArray(resourceTypes))}::text[])`;
    add('types', `e.resource_type = ${types}`, `a.resource_type = ${types}`);
  }
  if (actions !== undefined) {
    const types = `any(${parameter(textArray(actions))}::text[])`;
    add('actions', `e.type = ${types}`, `a.operation = ${types}`);
  }
  if (actors !== undefined) {
    const any = `any(${parameter(textArray(actors))}::text[])`;
    add('actors', `e.actor = ${any}`, `a.actor = ${any}`);
  }
  if (actorOrigin !== undefined) {
    const origin = parameter(ORIGINS[actorOrigin]);
    add('origin', `split_part(e.actor, ':', 1) = ${origin}`, `split_part(a.actor, ':', 1) = ${origin}`);
  }
  if (outcome !== undefined) {
    add(outcome, outcome === 'success' ? 'true' : 'false', ATTEMPTS_OF[outcome]);
  }
  return { name: names.join('-'), events, attempts, values };
};

const ATTEMPTS_OF: Readonly<Record<AuditOutcome, string>> = {
  success: 'false',
  denied: 'a.status = 403',
  failed: 'a.status <> 403',
};

interface Row extends Freshness {
  readonly items: string;
  readonly total: number;
}

/**
 * One page of entries, newest first, and how many there are, up to `LISTED_MAX`; with all that the account has written
 * before. However long the log is, no more is looked at than that, and what the filters without an index pass over.
 * @throws ReadModelBehindError
 */
export const listAuditRows = async (
  { database, progress }: ResourceReads,
  customerId: number,
  filters: AuditFilters,
  { skip, take }: { readonly skip: number; readonly take: number },
): Promise<{ readonly rows: readonly AuditRow[]; readonly total: number }> => {
  const { name, events, attempts, values } = variantOf(filters, 7);
  const conditions = (alias: string, more: readonly string[]): string =>
    [
      `${alias}.customer_id = $1`,
      `${alias}.occurred_at >= $3::timestamptz`,
      `${alias}.occurred_at < $4::timestamptz`,
      ...more,
    ].join(' and ');
  const { items, total } = await consistentRead<Row>({
    pool: boundTo(database, customerId),
    projection: 'audit',
    progress,
    query: {
      name: `list-audit-${name}`,
      text: `with events as (
               select occurred_at, position as tie, true as is_event from audit_entries e
               where ${conditions('e', events)} order by e.occurred_at desc, e.position desc limit ${LISTED_MAX}),
             attempts as (
               select occurred_at, id::text as tie, false as is_event from audit_attempts a
               where ${conditions('a', attempts)} order by a.occurred_at desc, a.id desc limit ${LISTED_MAX}),
             listed as materialized (
               select * from (select * from events union all select * from attempts) both_kinds
               order by occurred_at desc, is_event desc, tie desc limit ${LISTED_MAX}),
             page as materialized (
               select * from listed order by occurred_at desc, is_event desc, tie desc
               limit $5::bigint offset $6::bigint)
             select ${freshnessColumns('f')}, (select count(*)::int from listed) as total,
               (select coalesce(json_agg(row order by occurred_at desc, is_event desc, tie desc), '[]')::text
                from (
                  select p.*, json_build_object(${eventColumns}) as row
                  from page p join audit_entries e on e.customer_id = $1 and e.occurred_at = p.occurred_at
                    and e.position = p.tie where p.is_event
                  union all
                  select p.*, json_build_object(${attemptColumns}) as row
                  from page p join audit_attempts a on a.customer_id = $1 and a.occurred_at = p.occurred_at
                    and a.id::text = p.tie where not p.is_event
                ) rows) as items
             from ${freshnessSql('$1', '$2')} f`,
      values: [customerId, 'audit', filters.from, filters.before, take, skip, ...values],
    },
  });
  return { rows: JSON.parse(items) as readonly AuditRow[], total };
};

/** Of what one request has led to, so many entries are shown. */
export const CAUSED_MAX = 1_000;

/**
 * What belongs to a request, oldest first: events, and what was refused of it.
 * @throws ReadModelBehindError
 */
export const findCaused = async (
  { database, progress }: ResourceReads,
  customerId: number,
  requestId: string,
): Promise<readonly AuditRow[]> => {
  const { items } = await consistentRead<Freshness & { readonly items: string }>({
    pool: boundTo(database, customerId),
    projection: 'audit',
    progress,
    query: {
      name: 'find-caused',
      text: `select ${freshnessColumns('f')}, (
               select coalesce(json_agg(row order by occurred_at, tie), '[]')::text from (
                 (select e.occurred_at, e.position as tie, json_build_object(${eventColumns}) as row
                  from audit_entries e where e.customer_id = $1 and e.correlation_id = $3
                  order by e.occurred_at, e.position limit ${CAUSED_MAX + 1})
                 union all
                 (select a.occurred_at, a.id::text, json_build_object(${attemptColumns})
                  from audit_attempts a where a.customer_id = $1 and a.request_id = $3
                  order by a.occurred_at, a.id limit ${CAUSED_MAX})
               ) caused) as items
             from ${freshnessSql('$1', '$2')} f`,
      values: [customerId, 'audit', requestId],
    },
  });
  return JSON.parse(items) as readonly AuditRow[];
};
